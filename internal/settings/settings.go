// Package settings fills a configuration struct from a YAML file and the environment,
// and prints it. Keys are the struct's yaml tags. An unknown key is an error that names
// the file, the line and the most similar key, and so is an unknown variable with the
// prefix. It has no configuration of its own.
//
// A struct is a section: its fields are keys. The keys of a field tagged ",inline"
// belong to the enclosing struct; it is a struct, an interface that holds a pointer to
// one, or a map of sections by name. A slice of structs is a list of sections, each
// overlaid on its type's defaults. Everything else is a value, including a struct that
// unmarshals text. Sections never decode themselves (their UnmarshalYAML is not
// called), so that all keys are checked.
package settings

import (
	"cmp"
	"encoding"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/agnivade/levenshtein"
)

// Defaulter sets the defaults of a list element.
type Defaulter interface{ SetDefaults() }

// Describer is a section in a map of sections that describes itself, because it has no
// field comment.
type Describer interface{ Description() string }

// Moved maps keys of earlier versions to their current names. A list element is "#", as in fabrics.#.name.
type Moved map[string]string

// element matches the index of a list element in a path or a variable name.
var element = regexp.MustCompile(`([._])[0-9]+([._])`)

// of returns the current path of a moved key, or empty.
func (m Moved) of(path string) string {
	now := m[element.ReplaceAllString(path, "${1}#${2}")]
	if number := element.FindString(path); number != "" {
		now = strings.Replace(now, ".#.", number, 1)
	}
	return now
}

// Field is one key of a section.
type Field struct {
	Key         string
	Value       reflect.Value
	Owner       reflect.Type // the struct that declares it
	Name        string       // the field's Go name
	Description string       // of a section that is a Describer
	flow        bool
}

// Fields lists the keys of a section, including inlined ones.
func Fields(section reflect.Value) (fields []Field) {
	t := section.Type()
	for i := range t.NumField() {
		f, value := t.Field(i), section.Field(i)
		key, option, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if !f.IsExported() || key == "-" {
			continue
		}
		if option == "inline" {
			fields = append(fields, inlined(value, t, f.Name)...)
			continue
		}
		fields = append(fields, Field{Key: cmp.Or(key, strings.ToLower(f.Name)), Value: value, Owner: t, Name: f.Name, flow: option == "flow"})
	}
	return fields
}

func inlined(value reflect.Value, owner reflect.Type, name string) (fields []Field) {
	switch value.Kind() {
	case reflect.Struct:
		return Fields(value)
	case reflect.Interface:
		return Fields(value.Elem().Elem())
	case reflect.Map:
		keys := value.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, key := range keys {
			f := Field{Key: key.String(), Value: value.MapIndex(key).Elem(), Owner: owner, Name: name}
			if d, ok := value.MapIndex(key).Interface().(Describer); ok {
				f.Description = d.Description()
			}
			fields = append(fields, f)
		}
		return fields
	}
	panic(fmt.Sprintf("settings: field %s of %s cannot be inlined", name, owner)) // a bug in the struct, found by its test
}

// IsSection reports whether a type has keys.
func IsSection(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && !reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// IsSectionList reports whether a type is a list of sections.
func IsSectionList(t reflect.Type) bool { return t.Kind() == reflect.Slice && IsSection(t.Elem()) }

// newElement returns a new element of a list of sections, with its defaults.
func newElement(list reflect.Type) reflect.Value {
	element := reflect.New(list.Elem())
	if d, ok := element.Interface().(Defaulter); ok {
		d.SetDefaults()
	}
	return element.Elem()
}

// Walk visits all keys below a section: those of list elements by index, or, for an
// empty list, those of one new element. Sections are visited before their keys.
func Walk(section reflect.Value, visit func(path string, f Field)) { walk(section, "", visit) }

func walk(section reflect.Value, path string, visit func(string, Field)) {
	for _, f := range Fields(section) {
		visit(path+f.Key, f)
		switch t := f.Value.Type(); {
		case IsSection(t):
			walk(f.Value, path+f.Key+".", visit)
		case IsSectionList(t) && f.Value.Len() == 0:
			walk(newElement(t), path+f.Key+".0.", visit)
		case IsSectionList(t):
			for i := range f.Value.Len() {
				walk(f.Value.Index(i), fmt.Sprintf("%s%s.%d.", path, f.Key, i), visit)
			}
		}
	}
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

// suggestion returns "; did you mean X?" for the most similar known name, or a list of
// all if none is similar.
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

// wanted describes the values of a type for operators.
func wanted(t reflect.Type) string {
	if t == reflect.TypeFor[time.Duration]() {
		return "a duration such as 60s"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number, 0 or more"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "a list such as [a, b]; each: " + wanted(t.Elem())
	case reflect.Map:
		return "keys with values"
	}
	return "a text"
}
