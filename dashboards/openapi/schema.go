package openapi

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/giverny/giverny/internal/test/refdocs"
)

// builder generates schemas from types: each named struct is a component.
type builder struct {
	api      API
	schemas  openapi3.Schemas
	named    map[string]reflect.Type
	comments map[string]map[string]string // by package, then by Type or Type.Field
	err      error
}

func simple(kind string) *openapi3.Schema { return &openapi3.Schema{Type: &openapi3.Types{kind}} }

// ref returns the schema of a type, as a reference if it is a component.
func (b *builder) ref(t reflect.Type) *openapi3.SchemaRef {
	if like := b.api.Like[t]; like != nil {
		return b.component(t, like)
	}
	switch {
	case t.Kind() == reflect.Pointer:
		return nullable(b.ref(t.Elem()))
	case len(b.api.Values[t]) > 0, t.Kind() == reflect.Struct && t.Name() != "" && b.api.Formats[t] == nil && !isText(t):
		return b.component(t, t)
	}
	return b.inline(t)
}

func isText(t reflect.Type) bool { return t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) }

// nullable returns a schema that also allows null.
func nullable(s *openapi3.SchemaRef) *openapi3.SchemaRef {
	if s.Value != nil && s.Ref == "" && s.Value.Type != nil {
		v := *s.Value
		types := append(openapi3.Types{}, *v.Type...)
		types = append(types, "null")
		v.Type = &types
		return v.NewRef()
	}
	return (&openapi3.Schema{OneOf: openapi3.SchemaRefs{s, simple("null").NewRef()}}).NewRef()
}

// component adds the schema of a type under its name, capitalised so that clients can export a type for it.
func (b *builder) component(t, like reflect.Type) *openapi3.SchemaRef {
	name := strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
	if was := b.named[name]; was != nil && was != t {
		b.err = errors.Join(b.err, fmt.Errorf("two types are called %s: %v and %v", name, was, t))
	}
	if b.named[name] == nil {
		b.named[name] = t
		b.schemas[name] = nil // types may be recursive
		s := b.inline(like)
		s.Value.Description = b.comment(t, "")
		b.schemas[name] = s
	}
	return component(name)
}

// inline returns the schema of a type without a reference.
func (b *builder) inline(t reflect.Type) *openapi3.SchemaRef {
	if f := b.api.Formats[t]; f != nil {
		return f.NewRef()
	}
	if values := b.api.Values[t]; len(values) > 0 {
		s := simple("string")
		for _, v := range values {
			s.Enum = append(s.Enum, v)
		}
		return s.NewRef()
	}
	if isText(t) || reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return simple("string").NewRef()
	}
	if t.Implements(reflect.TypeFor[json.Marshaler]()) && b.api.Like[t] == nil {
		b.err = errors.Join(b.err, fmt.Errorf("%v writes its own JSON: say what that is like", t))
	}
	return b.kind(t).NewRef()
}

func (b *builder) kind(t reflect.Type) *openapi3.Schema {
	zero := 0.
	switch t.Kind() {
	case reflect.String:
		return simple("string")
	case reflect.Bool:
		return simple("boolean")
	case reflect.Float32, reflect.Float64:
		return simple("number")
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return simple("integer")
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		s := simple("integer")
		s.Min = &zero
		return s
	case reflect.Slice, reflect.Array:
		s := simple("array")
		s.Items = b.ref(t.Elem())
		if t.Kind() == reflect.Array {
			n := uint64(t.Len())
			s.MinItems, s.MaxItems = n, &n
		}
		return s
	case reflect.Map:
		s := simple("object")
		s.AdditionalProperties = openapi3.AdditionalProperties{Schema: b.ref(t.Elem())}
		return s
	case reflect.Struct:
		s := simple("object")
		s.Properties = openapi3.Schemas{}
		b.fields(s, t)
		return s
	}
	b.err = errors.Join(b.err, fmt.Errorf("no schema for %v", t))
	return simple("object")
}

// fields adds the fields of a struct, including those of embedded structs.
func (b *builder) fields(s *openapi3.Schema, t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			if like := b.api.Like[inner]; like != nil {
				inner = like
			}
			b.fields(s, inner)
			continue
		}
		if name == "-" || !f.IsExported() {
			continue
		}
		if name == "" {
			b.err = errors.Join(b.err, fmt.Errorf("%v.%s has no name in JSON", t, f.Name))
			continue
		}
		optional := strings.Contains(options, "omit")
		s.Properties[name] = b.field(t, f, options, optional)
		if !optional {
			s.Required = append(s.Required, name)
		}
	}
}

// field returns the schema of a field, with its comment.
func (b *builder) field(t reflect.Type, f reflect.StructField, options string, optional bool) *openapi3.SchemaRef {
	of := f.Type
	if optional && of.Kind() == reflect.Pointer { // omitted rather than null
		of = of.Elem()
	}
	s := b.ref(of)
	if strings.Contains(options, "string") {
		s = (&openapi3.Schema{Type: &openapi3.Types{"string"}, Pattern: "^-?[0-9]+$"}).NewRef()
	}
	comment := b.comment(t, "."+f.Name)
	switch {
	case comment == "":
	case s.Ref == "":
		v := *s.Value
		v.Description = comment
		s = v.NewRef()
	default: // 3.1 allows a description next to a reference
		s = &openapi3.SchemaRef{Ref: s.Ref, Extensions: map[string]any{"description": comment}}
	}
	return s
}

// comment returns the comment of a type or of its field.
func (b *builder) comment(t reflect.Type, field string) string {
	path := t.PkgPath()
	_, below, ours := strings.Cut(path, "/giverny/giverny/")
	if !ours {
		return ""
	}
	if b.comments == nil {
		b.comments = map[string]map[string]string{}
	}
	if b.comments[path] == nil {
		read, err := refdocs.Comments(filepath.Join(b.api.Root, strings.TrimSuffix(below, "_test")))
		b.err = errors.Join(b.err, err)
		b.comments[path] = read
	}
	return b.comments[path][t.Name()+field]
}
