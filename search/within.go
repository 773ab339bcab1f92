package search

import (
	"fmt"
	"slices"
)

// limits expresses a restricted space as an MFS of the unrestricted one: an MFS found
// in it is known only there. For an ordered dimension it has the smallest and largest
// remaining value. nil: no restriction.
func (s *Space) limits() *MFS {
	if s.full == nil {
		return nil
	}
	f := newMFS(s.full)
	for i := range s.dims {
		left, from := &s.dims[i], &s.full.dims[i]
		c := condition{span: left.cutSpan(from, span{0, len(left.Values) - 1})}
		if !from.hasOrder() {
			for k, v := range from.Values {
				if left.find(v) >= 0 {
					c.in = append(c.in, k)
				}
			}
		}
		c.free = from.everything(&c)
		f.conds[i] = c
	}
	if len(f.dimensions()) == 0 {
		return nil
	}
	return f
}

// confined adds the limits of the space that an MFS was found in to its conditions. It
// is an error if no workload meets both.
func (f *MFS) confined(limits *MFS) (*MFS, error) {
	own := f.clone()
	own.within = limits
	for _, d := range limits.dimensions() {
		own.narrow(d, limits.conds[d])
		c, dim := &own.conds[d], &own.space.dims[d]
		c.any = slices.Clone(c.any)
		for i := range c.any {
			c.any[i] = span{max(c.any[i].lo, c.span.lo), min(c.any[i].hi, c.span.hi)}
		}
		if !dim.possible(c) {
			return nil, fmt.Errorf("within: %q: its mfs lies outside", dim.Name)
		}
	}
	return own, nil
}

// Everywhere returns the MFS in the unrestricted space, with the limits of the space
// that it was found in as conditions.
func (f *MFS) Everywhere() *MFS {
	limits := f.space.limits()
	if limits == nil {
		return f
	}
	own := newMFS(f.space.full)
	for _, i := range f.dimensions() {
		left, from := &f.space.dims[i], &own.space.dims[i]
		c := condition{span: left.opened(from, f.conds[i].span)}
		for _, v := range f.conds[i].in {
			c.in = append(c.in, from.find(left.Values[v]))
		}
		for _, a := range f.conds[i].any {
			c.any = append(c.any, left.opened(from, a))
		}
		own.conds[i] = c
	}
	confined, err := own.confined(limits)
	if err != nil {
		panic("search: an MFS outside the space that it was found in: " + err.Error())
	}
	return confined
}

// opened maps a span of the remaining values to all values: an end beyond which no
// value remains stays open.
func (d *Dimension) opened(from *Dimension, s span) span {
	out := d.cutSpan(from, s)
	if s.lo == 0 {
		out.lo = 0
	}
	if s.hi == len(d.Values)-1 {
		out.hi = len(from.Values) - 1
	}
	return out
}
