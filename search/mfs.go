package search

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// span is an inclusive range of indexes into the values of a dimension.
type span struct{ lo, hi int }

func (s span) holds(i int) bool { return s.lo <= i && i <= s.hi }

func (s span) within(outer span) bool { return outer.lo <= s.lo && s.hi <= outer.hi }

// condition is an MFS's condition on one dimension. The kind of dimension determines
// the fields: in if unordered, span if ordered, span (of every message) and any for a
// pattern.
type condition struct {
	free bool   // the dimension does not matter
	in   []int  // the values that trigger, ascending
	span span   // the values that trigger
	any  []span // at least one message in each
	// outer is the range not known to lose the anomaly: wider than the condition until
	// the thresholds are found, then nil.
	outer *condition
}

// bound returns the condition if certain, otherwise the range not known to lose the anomaly.
func (c *condition) bound(certain bool) *condition {
	if c.outer != nil && !certain {
		return c.outer
	}
	return c
}

// MFS is a minimal feature set: the conditions that a workload must meet to
// trigger an anomaly (Collie, section 5.2).
type MFS struct {
	space *Space
	conds []condition
	// within are the limits of the restricted space that it was found in, which are
	// also part of the conditions; nil: it was found in the whole space.
	within *MFS
}

func newMFS(s *Space) *MFS {
	f := &MFS{space: s, conds: make([]condition, len(s.dims))}
	for i := range f.conds {
		f.conds[i] = condition{free: true, span: span{0, len(s.dims[i].Values) - 1}}
	}
	return f
}

func (f *MFS) clone() *MFS {
	return &MFS{space: f.space, conds: slices.Clone(f.conds), within: f.within}
}

// Covers reports whether a workload of the same space meets every condition.
func (f *MFS) Covers(w Workload) bool { return f.covers(w.point) }

func (f *MFS) covers(p point) bool {
	for i := range f.conds {
		if !f.meets(i, p[i]) {
			return false
		}
	}
	return true
}

// broken lists the dimensions in which a point does not meet the conditions: if certain, the
// conditions themselves, otherwise the range not known to lose the anomaly.
func (f *MFS) broken(p point, certain bool) (dims []int) {
	for i := range f.conds {
		if !f.conds[i].free && !f.conds[i].bound(certain).meets(&f.space.dims[i], p[i]) {
			dims = append(dims, i)
		}
	}
	return dims
}

// mayCover reports whether a point is within the range not known to lose the anomaly.
func (f *MFS) mayCover(p point) bool {
	for i := range f.conds {
		if !f.conds[i].free && !f.conds[i].bound(false).meets(&f.space.dims[i], p[i]) {
			return false
		}
	}
	return true
}

func (f *MFS) meets(dim int, at []int) bool {
	c := &f.conds[dim]
	return c.free || c.meets(&f.space.dims[dim], at)
}

func (c *condition) meets(d *Dimension, at []int) bool {
	if !d.hasOrder() {
		return slices.Contains(c.in, at[0])
	}
	for _, i := range at {
		if !c.span.holds(i) {
			return false
		}
	}
	for _, s := range c.any {
		if !slices.ContainsFunc(at, s.holds) {
			return false
		}
	}
	return true
}

// narrow adds condition c to a dimension.
func (f *MFS) narrow(dim int, c condition) {
	have := &f.conds[dim]
	if have.free {
		*have = c
		return
	}
	if !f.space.dims[dim].hasOrder() {
		have.in = slices.DeleteFunc(slices.Clone(have.in), func(i int) bool { return !slices.Contains(c.in, i) })
		return
	}
	have.span = span{max(have.span.lo, c.span.lo), min(have.span.hi, c.span.hi)}
	if len(c.any) > 0 {
		have.any = c.any
	}
}

// dimensions lists those that matter.
func (f *MFS) dimensions() (dims []int) {
	for i := range f.conds {
		if !f.conds[i].free {
			dims = append(dims, i)
		}
	}
	return dims
}

// random returns a random member; free dimensions have any value.
func (f *MFS) random(r *rand.Rand) point {
	p := make(point, len(f.conds))
	for d := range p {
		p[d] = f.draw(d, r)
	}
	return p
}

// draw returns a random coordinate that meets a dimension's condition.
func (f *MFS) draw(dim int, r *rand.Rand) []int {
	c, d := &f.conds[dim], &f.space.dims[dim]
	at := d.Random(r)
	switch {
	case c.free:
	case !d.hasOrder():
		at[0] = c.in[r.IntN(len(c.in))]
	default:
		for k := range at {
			at[k] = c.span.lo + r.IntN(c.span.hi-c.span.lo+1)
		}
		if len(at) < len(c.any) {
			at = make([]int, len(c.any))
		}
		for k, s := range c.any { // also within the condition on all messages
			lo, hi := max(s.lo, c.span.lo), min(s.hi, c.span.hi)
			at[k] = lo + r.IntN(hi-lo+1)
		}
	}
	return at
}

// Bounds are the smallest and the largest value, inclusive; nil: unbounded.
type Bounds struct {
	Min *Value `json:"min,omitempty"`
	Max *Value `json:"max,omitempty"`
}

// Condition is the JSON form of a condition on one dimension. In: the values that
// trigger. Min and Max: bounds of an ordered dimension. For a pattern, All: bounds of
// every message; Any: for each entry at least one message is within.
type Condition struct {
	In []Value `json:"in,omitempty"`
	Bounds
	All *Bounds  `json:"all,omitempty"`
	Any []Bounds `json:"any,omitempty"`
}

// Conditions returns the conditions of the dimensions that matter, by name.
func (f *MFS) Conditions() map[string]Condition {
	named := map[string]Condition{}
	for _, i := range f.dimensions() {
		c, d := &f.conds[i], &f.space.dims[i]
		if d.everything(c) { // coarse: not yet known which part matters
			continue
		}
		var out Condition
		switch {
		case d.Pattern:
			if b := d.bounds(c.span); b != (Bounds{}) {
				out.All = &b
			}
			for _, s := range c.any {
				out.Any = append(out.Any, d.bounds(s))
			}
		case d.Ordered:
			out.Bounds = d.bounds(c.span)
		default:
			for _, k := range c.in {
				out.In = append(out.In, d.Values[k])
			}
		}
		named[d.Name] = out
	}
	return named
}

// bounds omits an end beyond which there are no values.
func (d *Dimension) bounds(s span) (b Bounds) {
	if s.lo > 0 {
		b.Min = &d.Values[s.lo]
	}
	if s.hi < len(d.Values)-1 {
		b.Max = &d.Values[s.hi]
	}
	return b
}

// MarshalJSON writes the conditions of the dimensions that matter.
func (f *MFS) MarshalJSON() ([]byte, error) { return json.Marshal(f.Conditions()) }

// ParseMFS reads an MFS written by MarshalJSON, for this engine or another one with the
// same dimensions. Bounds need not be listed values if the values are numbers or have
// byte units.
func (s *Space) ParseMFS(text []byte) (*MFS, error) {
	var named map[string]Condition
	if err := json.Unmarshal(text, &named); err != nil {
		return nil, fmt.Errorf("mfs: %w", err)
	}
	f := newMFS(s)
	for i := range s.dims {
		d := &s.dims[i]
		in, ok := named[d.Name]
		if !ok {
			continue
		}
		delete(named, d.Name)
		c, err := d.condition(in)
		if err != nil {
			return nil, fmt.Errorf("mfs: %q: %w", d.Name, err)
		}
		f.conds[i] = c
	}
	for name := range named {
		return nil, fmt.Errorf("mfs: the engine has no dimension %q", name)
	}
	return f, nil
}

func (d *Dimension) condition(in Condition) (condition, error) {
	c := condition{span: span{0, len(d.Values) - 1}}
	if !d.hasOrder() {
		for _, v := range in.In {
			if k := d.find(v); k >= 0 {
				c.in = append(c.in, k)
			}
		}
		slices.Sort(c.in)
		if len(c.in) == 0 {
			return c, fmt.Errorf("none of %v is one of its values %v", in.In, d.Values)
		}
		return c, nil
	}
	all := in.Bounds
	if d.Pattern && in.All != nil {
		all = *in.All
	}
	var err error
	if c.span, err = d.span(all); err != nil {
		return c, err
	}
	for _, b := range in.Any {
		s, err := d.span(b)
		if err != nil {
			return c, err
		}
		c.any = append(c.any, s)
	}
	if !d.possible(&c) {
		return c, fmt.Errorf("no value can meet it: some of %d messages, each within what is asked of all, of at most %d", len(c.any), max(1, d.MaxLength))
	}
	return c, nil
}

// span returns the values within bounds. Unlisted bounds are compared by quantity.
func (d *Dimension) span(b Bounds) (span, error) {
	s := span{0, len(d.Values) - 1}
	var err error
	if b.Min != nil {
		if s.lo = d.place(*b.Min); s.lo < 0 {
			if s.lo, err = d.above(*b.Min); err != nil {
				return s, err
			}
		}
	}
	if b.Max != nil {
		if s.hi = d.place(*b.Max); s.hi < 0 {
			if s.hi, err = d.above(*b.Max); err != nil {
				return s, err
			}
			s.hi--
		}
	}
	if s.hi < s.lo {
		return s, fmt.Errorf("no value lies within the bounds: it has %v", d.Values)
	}
	return s, nil
}

// Compare reports whether two MFS of a space have the same dimensions, and whether they
// have the same conditions.
func Compare(a, b *MFS) (dimensions, exact bool) {
	dimensions = slices.Equal(a.dimensions(), b.dimensions())
	if !dimensions {
		return false, false
	}
	return true, subset(a, b) && subset(b, a)
}

// Share is the share of the workloads that meet every condition, if every value and
// length is equally likely; for a pattern that needs several messages, an estimate.
func (f *MFS) Share() float64 {
	share := 1.
	for i := range f.conds {
		c, d := &f.conds[i], &f.space.dims[i]
		n := float64(len(d.Values))
		part := func(s span) float64 { return float64(s.hi-s.lo+1) / n }
		switch {
		case c.free:
		case !d.hasOrder():
			share *= float64(len(c.in)) / n
		case !d.Pattern:
			share *= part(c.span)
		default:
			sum := 0.
			for length := 1; length <= d.MaxLength; length++ {
				p := math.Pow(part(c.span), float64(length))
				for _, a := range c.any {
					p *= 1 - math.Pow(1-part(a), float64(length))
				}
				if length >= len(c.any) {
					sum += p / float64(d.MaxLength)
				}
			}
			share *= sum
		}
	}
	return share
}

// Random returns a random workload that meets an MFS of the space; nil: any workload.
func (s *Space) Random(r *rand.Rand, f *MFS) Workload {
	if f == nil {
		f = newMFS(s)
	}
	return s.workload(f.random(r))
}
