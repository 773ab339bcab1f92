package search

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/giverny/giverny/internal/yamldoc"
)

// Limit restricts one dimension: to the listed values, or to those within inclusive
// bounds, without the excepted ones; a pattern to at most MaxLength messages.
type Limit struct {
	In        []Value `json:"in"`
	Except    []Value `json:"except"`
	Min       *Value  `json:"min"`
	Max       *Value  `json:"max"`
	MaxLength int     `json:"max_length"`
}

// Restriction is the part of a space that an application uses, by dimension.
type Restriction map[string]Limit

// ParseRestriction reads a restriction in YAML: for each restricted dimension one value,
// a list of values, or a mapping with in, except, min, max or max_length. Sizes may have
// units: 4KB and 4KiB are 4096.
func ParseRestriction(text []byte) (Restriction, error) {
	var given any
	in := yaml.NewDecoder(bytes.NewReader(text))
	if err := in.Decode(&given); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("restriction: %w", err)
	}
	if err := yamldoc.End(in, "put all dimensions into one"); err != nil {
		return nil, fmt.Errorf("restriction: %w", err)
	}
	named, ok := given.(map[string]any)
	if !ok && given != nil {
		return nil, errors.New("restriction: want a mapping from dimensions to their allowed values, such as qps: {max: 64}")
	}
	r := Restriction{}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(named)) {
		limit, err := parseLimit(named[name])
		if err != nil {
			errs = append(errs, fmt.Errorf("restriction: %q: %w", name, err))
		}
		r[name] = limit
	}
	return r, errors.Join(errs...)
}

func parseLimit(given any) (l Limit, err error) {
	keys, ok := given.(map[string]any)
	if given == nil || ok && len(keys) == 0 {
		return l, errors.New("it is empty: want a value, a list of values, or min and max")
	}
	if !ok {
		l.In, err = valuesOf(given)
		return l, err
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		values, err := valuesOf(keys[key])
		if err != nil {
			return l, fmt.Errorf("%s: %w", key, err)
		}
		switch {
		case key == "in":
			l.In = values
		case key == "except":
			l.Except = values
		case len(values) != 1:
			return l, fmt.Errorf("%s: want one value", key)
		case key == "min":
			l.Min = &values[0]
		case key == "max":
			l.Max = &values[0]
		case key == "max_length":
			l.MaxLength = int(values[0].Float())
			if l.MaxLength < 1 {
				return l, fmt.Errorf("max_length %s: want 1 or more", values[0])
			}
		default:
			return l, fmt.Errorf("unknown key %q: want in, except, min, max or max_length", key)
		}
	}
	return l, nil
}

// valuesOf reads one value or a list of them from YAML.
func valuesOf(given any) ([]Value, error) {
	list, ok := given.([]any)
	if !ok {
		list = []any{given}
	}
	if len(list) == 0 {
		return nil, errors.New("the list is empty: no workload is left")
	}
	values := make([]Value, len(list))
	for i, x := range list {
		text, err := json.Marshal(x)
		if err == nil {
			err = values[i].UnmarshalJSON(text)
		}
		if err != nil {
			return nil, fmt.Errorf("%v: want a number, a text or true or false", x)
		}
	}
	return values, nil
}

// Restrict returns the restricted space. Dimensions or values that the engine does not
// have are errors, as is a dimension without values left.
func (s *Space) Restrict(r Restriction) (*Space, error) {
	own := slices.Clone(s.dims)
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(r)) {
		i := slices.IndexFunc(own, func(d Dimension) bool { return d.Name == name })
		if i < 0 {
			errs = append(errs, fmt.Errorf("restriction: the engine has no dimension %q: it has %v", name, names(own)))
			continue
		}
		d, err := own[i].limited(r[name])
		if err != nil {
			errs = append(errs, fmt.Errorf("restriction: %q: %w", name, err))
		}
		own[i] = d
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	full := s
	if s.full != nil {
		full = s.full
	}
	return &Space{dims: own, full: full}, nil
}

func names(dims []Dimension) (list []string) {
	for _, d := range dims {
		list = append(list, d.Name)
	}
	return list
}

// unlisted is the error for a value that a dimension does not have. It shows quotes if a text was given for a number
// that reads the same, or vice versa.
func (d *Dimension) unlisted(v Value) error {
	if slices.ContainsFunc(d.Values, func(o Value) bool { return o.String() == v.String() }) {
		list := make([]string, len(d.Values))
		for i := range d.Values {
			list[i] = d.Values[i].text
		}
		return fmt.Errorf("%s is not one of its values %v: quoted values are texts", v.text, list)
	}
	return fmt.Errorf("%s is not one of its values %v", v, d.Values)
}

// limited returns the dimension reduced to the values that a limit leaves.
func (d Dimension) limited(l Limit) (Dimension, error) {
	var in, except []int
	for _, v := range l.In {
		in = append(in, d.place(v))
	}
	for _, v := range l.Except {
		except = append(except, d.place(v))
	}
	if i := slices.Index(slices.Concat(in, except), -1); i >= 0 {
		return d, d.unlisted(slices.Concat(l.In, l.Except)[i])
	}
	if l.MaxLength > 0 && !d.Pattern {
		return d, errors.New("max_length is for message patterns, which this is not")
	}
	within := span{0, len(d.Values) - 1}
	if l.Min != nil || l.Max != nil {
		if !d.hasOrder() {
			return d, errors.New("min and max are for ordered dimensions: list the values")
		}
		var err error
		if within, err = d.span(Bounds{Min: l.Min, Max: l.Max}); err != nil {
			return d, err
		}
	}
	var left []Value
	for i, v := range d.Values {
		if within.holds(i) && (l.In == nil || slices.Contains(in, i)) && !slices.Contains(except, i) {
			left = append(left, v)
		}
	}
	if len(left) == 0 {
		return d, fmt.Errorf("none of its values %v is left", d.Values)
	}
	d.Values = left
	if l.MaxLength > 0 {
		d.MaxLength = min(d.MaxLength, l.MaxLength)
	}
	return d, nil
}
