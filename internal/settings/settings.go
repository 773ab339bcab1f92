// Package settings fills a configuration struct from a YAML file and the
// environment. Keys are the struct's yaml tags. A key that the struct does not
// have is an error that names the file, the line and the nearest key; so is a
// variable with the prefix that matches no key. It knows no configuration of
// its own.
package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"

	"github.com/agnivade/levenshtein"
	"go.yaml.in/yaml/v3"
)

// Source is a YAML text and its name in messages.
type Source struct {
	Name string
	Text []byte
}

// Load lays the file and then the environment over what into, a pointer to a
// struct, already holds. environ is a list of KEY=value; the variable of the
// key kafka.tls.enabled under the prefix GIVERNY is GIVERNY_KAFKA_TLS_ENABLED,
// that of the first fabric's name GIVERNY_FABRICS_0_NAME. Variables named in
// others have another use and are passed over. All faults are joined.
func Load(into any, file Source, prefix string, environ []string, others ...string) error {
	if err := loadYAML(into, file); err != nil {
		return err
	}
	return loadEnvironment(reflect.ValueOf(into).Elem(), prefix, environ, others)
}

func loadYAML(into any, file Source) error {
	var doc yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(file.Text))
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil
	} else if err != nil {
		return fmt.Errorf("%s: %w", file.Name, err)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: holds more than one YAML document; keep the first", file.Name)
	}
	if errs := check(file.Name, doc.Content[0], reflect.TypeOf(into).Elem(), ""); len(errs) > 0 {
		return errors.Join(errs...)
	}
	if err := doc.Decode(into); err != nil {
		return fmt.Errorf("%s: %w", file.Name, err)
	}
	return nil
}

// check finds keys that the type does not have, and keys that stand twice.
func check(file string, n *yaml.Node, t reflect.Type, path string) (errs []error) {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case n.Kind == yaml.MappingNode && t.Kind() == reflect.Struct && !isScalar(t):
		fields := Fields(t)
		seen := map[string]bool{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if seen[key.Value] {
				errs = append(errs, fmt.Errorf("%s:%d: key %q stands twice", file, key.Line, path+key.Value))
			}
			seen[key.Value] = true
			f, ok := find(fields, key.Value)
			if !ok {
				errs = append(errs, fmt.Errorf("%s:%d: unknown key %q%s", file, key.Line, path+key.Value, suggestion(key.Value, names(fields))))
				continue
			}
			errs = append(errs, check(file, n.Content[i+1], f.Type, path+key.Value+".")...)
		}
	case n.Kind == yaml.SequenceNode && t.Kind() == reflect.Slice:
		for i, e := range n.Content {
			errs = append(errs, check(file, e, t.Elem(), path+strconv.Itoa(i)+".")...)
		}
	case n.Kind == yaml.MappingNode && t.Kind() == reflect.Map:
		for i := 0; i+1 < len(n.Content); i += 2 {
			errs = append(errs, check(file, n.Content[i+1], t.Elem(), path+n.Content[i].Value+".")...)
		}
	}
	return errs
}

// Field is one key of a struct.
type Field struct {
	Key   string
	Type  reflect.Type
	Index []int
	Owner reflect.Type // the struct that declares it
	Name  string       // the field's Go name
}

// Fields lists the keys of a struct, those of inlined structs among them.
func Fields(t reflect.Type) (fields []Field) {
	for i := range t.NumField() {
		f := t.Field(i)
		key, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if !f.IsExported() || key == "-" {
			continue
		}
		if options == "inline" {
			for _, in := range Fields(f.Type) {
				in.Index = append([]int{i}, in.Index...)
				fields = append(fields, in)
			}
			continue
		}
		if key == "" {
			key = strings.ToLower(f.Name)
		}
		fields = append(fields, Field{key, f.Type, []int{i}, t, f.Name})
	}
	return fields
}

func find(fields []Field, key string) (Field, bool) {
	for _, f := range fields {
		if f.Key == key {
			return f, true
		}
	}
	return Field{}, false
}

func names(fields []Field) (n []string) {
	for _, f := range fields {
		n = append(n, f.Key)
	}
	return n
}

// suggestion is "; did you mean X?" for the nearest of the known names, or a
// list of them where none is near.
func suggestion(name string, known []string) string {
	best, distance := "", 3+len(name)/4
	for _, k := range known {
		if d := levenshtein.ComputeDistance(strings.ToLower(name), strings.ToLower(k)); d < distance {
			best, distance = k, d
		}
	}
	if best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	if len(known) <= 20 {
		return "; known here: " + strings.Join(known, ", ")
	}
	return ""
}

// isScalar reports whether values of a struct type are written as one word.
func isScalar(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[interface{ UnmarshalText([]byte) error }]()) || p.Implements(reflect.TypeFor[yaml.Unmarshaler]())
}

func loadEnvironment(v reflect.Value, prefix string, environ, others []string) error {
	var errs []error
	for _, line := range environ {
		name, value, _ := strings.Cut(line, "=")
		rest, ok := strings.CutPrefix(name, prefix+"_")
		if !ok || contains(others, name) {
			continue
		}
		if known, err := set(v, rest, value); err != nil {
			errs = append(errs, fmt.Errorf("environment variable %s: %w", name, err))
		} else if !known {
			errs = append(errs, fmt.Errorf("environment variable %s matches no key%s", name, suggestion(name, variables(v.Type(), prefix))))
		}
	}
	return errors.Join(errs...)
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}

// set follows the variable's name into v and decodes the value there.
func set(v reflect.Value, name, value string) (known bool, err error) {
	if v.Kind() == reflect.Struct && !isScalar(v.Type()) {
		for _, f := range Fields(v.Type()) {
			key := strings.ToUpper(f.Key)
			if name == key || strings.HasPrefix(name, key+"_") {
				if known, err = set(v.FieldByIndex(f.Index), strings.TrimPrefix(strings.TrimPrefix(name, key), "_"), value); known {
					return known, err
				}
			}
		}
		return false, nil
	}
	if v.Kind() == reflect.Slice && name != "" {
		number, rest, _ := strings.Cut(name, "_")
		i, err := strconv.Atoi(number)
		if err != nil || i < 0 || i > v.Len() {
			return false, nil
		}
		if i == v.Len() { // one may be added at the end
			v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
			if err := yaml.Unmarshal([]byte("{}"), v.Index(i).Addr().Interface()); err != nil { // its defaults
				return true, err
			}
		}
		return set(v.Index(i), rest, value)
	}
	if name != "" {
		return false, nil
	}
	if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.String && !strings.HasPrefix(value, "[") {
		value = "[" + value + "]"
	}
	if v.Kind() == reflect.String {
		v.SetString(value)
		return true, nil
	}
	if err := yaml.Unmarshal([]byte(value), v.Addr().Interface()); err != nil {
		return true, fmt.Errorf("%q is no %s", value, v.Type())
	}
	return true, nil
}

// variables lists the variables of a struct's keys, for suggestions.
func variables(t reflect.Type, prefix string) (list []string) {
	for _, f := range Fields(t) {
		name := prefix + "_" + strings.ToUpper(f.Key)
		ft := f.Type
		if ft.Kind() == reflect.Slice && ft.Elem().Kind() == reflect.Struct {
			name, ft = name+"_0", ft.Elem()
		}
		if ft.Kind() == reflect.Struct && !isScalar(ft) {
			list = append(list, variables(ft, name)...)
		} else {
			list = append(list, name)
		}
	}
	return list
}
