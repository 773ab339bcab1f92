package search

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// Dimension is a parameter of a workload, with its possible values.
type Dimension struct {
	Name string `json:"name"`
	// Ordered: the values are sorted, smallest first, so that thresholds make sense.
	Ordered bool `json:"ordered,omitempty"`
	// Pattern means that a workload has a list of 1 to MaxLength values: the sizes of
	// consecutive messages. A pattern is also ordered.
	Pattern   bool    `json:"pattern,omitempty"`
	MaxLength int     `json:"max_length,omitempty"`
	Values    []Value `json:"values"`
}

// hasOrder reports whether the values are ordered.
func (d *Dimension) hasOrder() bool { return d.Ordered || d.Pattern }

// find is the index of a value, or -1.
func (d *Dimension) find(v Value) int {
	return slices.IndexFunc(d.Values, v.same)
}

// Space is the set of workloads that an engine accepts, or a restriction of it.
type Space struct {
	dims   []Dimension
	full   *Space // the space that this one restricts; nil: none
	listed *Space // the space of listed values, if this one has additional ones; else nil
}

// Dimensions returns the dimensions of the space with the remaining values.
func (s *Space) Dimensions() []Dimension { return slices.Clone(s.dims) }

// Limits of a space, since engines' descriptions are not trusted.
const (
	maxDimensions = 256
	maxValues     = 4096
	maxLength     = 256
)

// NewSpace checks an engine's dimensions. Numbers of ordered dimensions are sorted.
func NewSpace(dims []Dimension) (*Space, error) {
	var errs []error
	if len(dims) == 0 || len(dims) > maxDimensions {
		errs = append(errs, fmt.Errorf("%d dimensions: want 1 to %d", len(dims), maxDimensions))
	}
	own := make([]Dimension, len(dims))
	seen := map[string]bool{}
	for i, d := range dims {
		d.Values = slices.Clone(d.Values)
		if err := d.check(); err != nil {
			errs = append(errs, fmt.Errorf("dimension %q: %w", d.Name, err))
		}
		if seen[d.Name] {
			errs = append(errs, fmt.Errorf("dimension %q is duplicated", d.Name))
		}
		seen[d.Name] = true
		own[i] = d
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return &Space{dims: own}, nil
}

func (d *Dimension) check() error {
	if d.Name == "" {
		return errors.New("it has no name")
	}
	if len(d.Values) == 0 || len(d.Values) > maxValues {
		return fmt.Errorf("%d values: want 1 to %d", len(d.Values), maxValues)
	}
	if d.Pattern && (d.MaxLength < 1 || d.MaxLength > maxLength) {
		return fmt.Errorf("max_length %d: want 1 to %d", d.MaxLength, maxLength)
	}
	if d.hasOrder() && !slices.ContainsFunc(d.Values, func(v Value) bool { return !v.numeric }) {
		slices.SortFunc(d.Values, func(a, b Value) int { return cmp.Compare(a.number, b.number) })
	}
	for i, v := range d.Values {
		if d.find(v) != i {
			return fmt.Errorf("value %s is duplicated", v)
		}
	}
	return nil
}

// point is a workload as indexes into the values of each dimension: one index, or 1 to
// MaxLength for a pattern. Points are immutable.
type point [][]int

// with returns the point with another coordinate.
func (p point) with(dim int, at ...int) point {
	q := slices.Clone(p)
	q[dim] = at
	return q
}

// key is a unique map key of a point.
func (p point) key() string {
	var b strings.Builder
	for _, at := range p {
		for _, i := range at {
			b.WriteByte(byte(i))
			b.WriteByte(byte(i >> 8))
		}
		b.WriteString("|")
	}
	return b.String()
}

// Workload is a point with the names and values of its space.
type Workload struct {
	space *Space
	point point
}

// workload returns the workload of a point.
func (s *Space) workload(p point) Workload { return Workload{s, p} }

// Values returns the value of a dimension, or all of a pattern; nil if there is no such
// dimension.
func (w Workload) Values(dimension string) []Value {
	i := slices.IndexFunc(w.space.dims, func(d Dimension) bool { return d.Name == dimension })
	if i < 0 {
		return nil
	}
	values := make([]Value, len(w.point[i]))
	for k, v := range w.point[i] {
		values[k] = w.space.dims[i].Values[v]
	}
	return values
}

// MarshalJSON writes an object with every dimension.
func (w Workload) MarshalJSON() ([]byte, error) {
	named := make(map[string]any, len(w.point)) // sorted by name when marshalled
	for i, at := range w.point {
		d := &w.space.dims[i]
		if d.Pattern {
			values := make([]Value, len(at))
			for k, v := range at {
				values[k] = d.Values[v]
			}
			named[d.Name] = values
			continue
		}
		named[d.Name] = d.Values[at[0]]
	}
	return json.Marshal(named)
}

// ParseWorkload reads a workload that has a listed value for every dimension, as
// written by Workload.MarshalJSON.
func (s *Space) ParseWorkload(text []byte) (Workload, error) {
	p, err := s.parse(text, (*Dimension).find)
	return Workload{s, p}, err
}

func (s *Space) parse(text []byte, find func(*Dimension, Value) int) (point, error) {
	var named map[string]json.RawMessage
	if err := json.Unmarshal(text, &named); err != nil {
		return nil, fmt.Errorf("workload: %w", err)
	}
	if err := s.sameNames(named); err != nil {
		return nil, err
	}
	p := make(point, len(s.dims))
	for i := range s.dims {
		d := &s.dims[i]
		raw := named[d.Name]
		at, err := d.read(raw, find)
		if err != nil {
			return nil, fmt.Errorf("workload: %q: %w", d.Name, err)
		}
		p[i] = at
	}
	return p, nil
}

// sameNames checks that a workload has exactly the dimensions of the space.
func (s *Space) sameNames(named map[string]json.RawMessage) error {
	var missing, names []string
	for i := range s.dims {
		names = append(names, s.dims[i].Name)
		if _, ok := named[s.dims[i].Name]; !ok {
			missing = append(missing, s.dims[i].Name)
		}
	}
	var faults []string
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if !slices.Contains(names, name) {
			faults = append(faults, fmt.Sprintf("the engine has no dimension %q", name))
		}
	}
	if len(missing) > 0 {
		faults = append(faults, "it lacks "+strings.Join(missing, ", "))
	}
	if len(faults) == 0 {
		return nil
	}
	return fmt.Errorf("workload: %s; a workload has a value of every dimension: %s", strings.Join(faults, ", "), strings.Join(names, ", "))
}

func (d *Dimension) read(raw json.RawMessage, find func(*Dimension, Value) int) ([]int, error) {
	var values []Value
	if d.Pattern {
		if err := json.Unmarshal(raw, &values); err != nil {
			return nil, fmt.Errorf("want a list of values: %w", err)
		}
		if len(values) == 0 || len(values) > d.MaxLength {
			return nil, fmt.Errorf("a list of %d: want 1 to %d", len(values), d.MaxLength)
		}
	} else {
		var v Value
		if err := json.Unmarshal(raw, &v); err != nil {
			return nil, err
		}
		values = []Value{v}
	}
	at := make([]int, len(values))
	for k, v := range values {
		if at[k] = find(d, v); at[k] < 0 {
			return nil, fmt.Errorf("%s is not one of its values %v", v, d.Values)
		}
	}
	return at, nil
}

// random returns a point with every value and length equally likely.
func (s *Space) random(r *rand.Rand) point {
	p := make(point, len(s.dims))
	for i := range s.dims {
		p[i] = s.dims[i].Random(r)
	}
	return p
}

// Random returns the indices of random values of the dimension: one, or several for a pattern.
func (d *Dimension) Random(r *rand.Rand) []int {
	n := 1
	if d.Pattern {
		n += r.IntN(d.MaxLength)
	}
	at := make([]int, n)
	for k := range at {
		at[k] = r.IntN(len(d.Values))
	}
	return at
}
