package search

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Untested is a value of an ordered dimension that an application uses and the engine
// does not list, with the nearest listed values; nil: there is none on that side.
type Untested struct {
	Dimension string `json:"dimension"`
	Value     Value  `json:"value"`
	Above     *Value `json:"above,omitempty"` // the largest listed value below it
	Below     *Value `json:"below,omitempty"` // the smallest listed value above it
}

// ParseApplication reads a workload whose values of ordered dimensions need not be
// listed: numbers, or sizes with byte units. The returned space includes them, so that
// MFS of that space (ParseKnown) compare them with their bounds. It serves to explain,
// not to search: the engine may refuse these values.
func (s *Space) ParseApplication(text []byte) (*Space, Workload, []Untested, error) {
	var named map[string]json.RawMessage
	if err := json.Unmarshal(text, &named); err != nil {
		return nil, Workload{}, nil, fmt.Errorf("workload: %w", err)
	}
	wide := &Space{dims: slices.Clone(s.dims), listed: s}
	var untested []Untested
	for i := range wide.dims {
		raw, ok := named[s.dims[i].Name]
		if !ok || !s.dims[i].hasOrder() {
			continue
		}
		more, err := s.dims[i].unlistedOf(raw)
		if err != nil {
			return nil, Workload{}, nil, fmt.Errorf("workload: %q: %w", s.dims[i].Name, err)
		}
		for _, u := range more {
			if err := wide.dims[i].insert(u.Value); err != nil {
				return nil, Workload{}, nil, fmt.Errorf("workload: %q: %w", u.Dimension, err)
			}
		}
		untested = append(untested, more...)
	}
	p, err := wide.parse(text, (*Dimension).place)
	return wide, Workload{wide, p}, untested, err
}

// unlistedOf returns the values of an ordered dimension in a workload that are not
// listed. Malformed values are left to Space.parse.
func (d *Dimension) unlistedOf(raw json.RawMessage) (list []Untested, err error) {
	var values []Value
	if json.Unmarshal(raw, &values) != nil {
		var v Value
		if json.Unmarshal(raw, &v) != nil {
			return nil, nil
		}
		values = []Value{v}
	}
	for _, v := range values {
		if d.place(v) >= 0 || slices.ContainsFunc(list, func(u Untested) bool { return u.Value.same(v) }) {
			continue
		}
		at, err := d.above(v)
		if err != nil {
			return nil, err
		}
		u := Untested{Dimension: d.Name, Value: v}
		if at > 0 {
			u.Above = &d.Values[at-1]
		}
		if at < len(d.Values) {
			u.Below = &d.Values[at]
		}
		list = append(list, u)
	}
	return list, nil
}

// insert inserts a value in order, unless one of the same quantity exists.
func (d *Dimension) insert(v Value) error {
	if d.place(v) >= 0 {
		return nil
	}
	at, err := d.above(v)
	if err != nil {
		return err
	}
	d.Values = slices.Insert(slices.Clone(d.Values), at, v)
	return nil
}

// lists reports whether the engine lists a value of the space.
func (s *Space) lists(dim, i int) bool {
	return s.listed == nil || s.listed.dims[dim].find(s.dims[dim].Values[i]) >= 0
}
