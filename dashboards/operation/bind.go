package operation

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/giverny/giverny/internal/problem"
)

// Parameter is a field of an operation's parameter struct. Its tags are path, query or header with the name;
// default, min and max; doc with the description. A field tagged body is the request's JSON.
type Parameter struct {
	Name, In string // In is path, query, header or body
	Field    reflect.StructField
	Default  string
	Min, Max *float64
	Required bool
	Doc      string
	index    []int
}

// ParametersOf lists the parameters of a struct, including those of embedded structs. It panics if a tag is
// invalid.
func ParametersOf(t reflect.Type) (list []Parameter) {
	for _, f := range reflect.VisibleFields(t) {
		for _, in := range []string{"path", "query", "header", "body"} {
			name, ok := f.Tag.Lookup(in)
			if !ok {
				continue
			}
			p := Parameter{Name: name, In: in, Field: f, Default: f.Tag.Get("default"), Doc: f.Tag.Get("doc"), index: f.Index,
				Required: in == "path" || in == "body" || f.Tag.Get("required") == "true", Min: bound(f, "min"), Max: bound(f, "max")}
			if p.Default != "" {
				if err := set(reflect.New(f.Type).Elem(), p.Default); err != nil {
					panic(fmt.Sprintf("operation: default of %s: %v", p.Name, err))
				}
			}
			list = append(list, p)
		}
	}
	return list
}

func bound(f reflect.StructField, tag string) *float64 {
	text, ok := f.Tag.Lookup(tag)
	if !ok {
		return nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(fmt.Sprintf("operation: tag %s of %s: %v", tag, f.Name, err))
	}
	return &v
}

// bind parses the parameters of a request into the struct that to points to.
func bind(r *http.Request, parameters []Parameter, to reflect.Value) error {
	query := r.URL.Query()
	if err := checkNames(query, parameters); err != nil {
		return err
	}
	for _, p := range parameters {
		var text string
		switch p.In {
		case "path":
			text = r.PathValue(p.Name)
		case "query":
			text = query.Get(p.Name)
		case "header":
			text = r.Header.Get(p.Name)
		case "body":
			if err := readBody(r, to.Elem().FieldByIndex(p.index).Addr().Interface()); err != nil {
				return err
			}
			continue
		}
		if text == "" {
			text = p.Default
		}
		if text == "" {
			if p.Required {
				return problem.BadRequest("%s: missing; want %s", p.Name, p.Doc)
			}
			continue
		}
		if err := p.read(to.Elem().FieldByIndex(p.index), text); err != nil {
			return problem.BadRequest("%s: %v", p.Name, err)
		}
	}
	return nil
}

// checkNames rejects unknown parameters: a misspelt one would otherwise be ignored.
func checkNames(query map[string][]string, parameters []Parameter) error {
	var names []string
	for _, p := range parameters {
		if p.In == "query" {
			names = append(names, p.Name)
		}
	}
	for name, values := range query {
		if !slices.Contains(names, name) {
			if len(names) == 0 {
				return problem.BadRequest("%q: this path takes no parameters", name)
			}
			return problem.BadRequest("%q: unknown parameter; want one of %s", name, strings.Join(names, ", "))
		}
		if len(values) > 1 {
			return problem.BadRequest("%s: given %d times; want it once", name, len(values))
		}
	}
	return nil
}

func (p *Parameter) read(to reflect.Value, text string) error {
	if err := set(to, text); err != nil {
		return err
	}
	number, ok := numberOf(to)
	if !ok {
		return nil
	}
	// in this form, NaN is rejected too
	if !(p.Min == nil || number >= *p.Min) || !(p.Max == nil || number <= *p.Max) || number != number {
		return fmt.Errorf("%q: want %s", text, p.bounds())
	}
	return nil
}

func (p *Parameter) bounds() string {
	show := func(v *float64) string { return strconv.FormatFloat(*v, 'f', -1, 64) }
	switch {
	case p.Min == nil && p.Max == nil:
		return "a number"
	case p.Max == nil:
		return "at least " + show(p.Min)
	case p.Min == nil:
		return "at most " + show(p.Max)
	}
	return show(p.Min) + " to " + show(p.Max)
}

func numberOf(v reflect.Value) (float64, bool) {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if _, text := v.Addr().Interface().(encoding.TextUnmarshaler); text {
		return 0, false
	}
	switch {
	case v.CanInt():
		return float64(v.Int()), true
	case v.CanUint():
		return float64(v.Uint()), true
	case v.CanFloat():
		return v.Float(), true
	}
	return 0, false
}

// set parses a text into a value: a text unmarshaler, a number, a boolean, a string, a comma-separated list, or a
// pointer to one of these.
func set(to reflect.Value, text string) error {
	if to.Kind() == reflect.Pointer {
		to.Set(reflect.New(to.Type().Elem()))
		return set(to.Elem(), text)
	}
	if u, ok := to.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return u.UnmarshalText([]byte(text))
	}
	switch to.Kind() {
	case reflect.String:
		to.SetString(text)
	case reflect.Bool:
		if text != "0" && text != "1" && text != "true" && text != "false" {
			return fmt.Errorf("%q: want true or false", text)
		}
		to.SetBool(text == "1" || text == "true")
	case reflect.Int, reflect.Int64, reflect.Int32:
		n, err := strconv.ParseInt(text, 10, to.Type().Bits())
		if err != nil {
			return fmt.Errorf("%q: want a whole number", text)
		}
		to.SetInt(n)
	case reflect.Uint64, reflect.Uint32:
		n, err := strconv.ParseUint(text, 10, to.Type().Bits())
		if err != nil {
			return fmt.Errorf("%q: want a whole number of 0 or more", text)
		}
		to.SetUint(n)
	case reflect.Float64:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("%q: want a number", text)
		}
		to.SetFloat(n)
	case reflect.Slice:
		for one := range strings.SplitSeq(text, ",") {
			v := reflect.New(to.Type().Elem()).Elem()
			if err := set(v, one); err != nil {
				return err
			}
			to.Set(reflect.Append(to, v))
		}
	default:
		panic("operation: no parameter can be a " + to.Type().String())
	}
	return nil
}

// readBody decodes the request's JSON: one value without unknown fields.
func readBody(r *http.Request, to any) error {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return problem.New(http.StatusUnsupportedMediaType, "content type %q: want application/json", r.Header.Get("Content-Type"))
	}
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	err = d.Decode(to)
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			return problem.BadRequest("body: want one JSON value and nothing after it")
		}
		return nil
	}
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return problem.New(http.StatusRequestEntityTooLarge, "body: more than %d bytes", tooLarge.Limit)
	}
	return problem.BadRequest("body: %v", err)
}
