// Package openapi generates the OpenAPI 3.1 document of an API from its table of operations: paths and parameters
// from the rows, schemas from the Go types, descriptions from their comments. It also writes the document as a page
// of the reference. Tests use it to keep both current.
package openapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/giverny/giverny/dashboards/operation"
	"github.com/giverny/giverny/internal/problem"
)

// API describes the API apart from its rows.
type API struct {
	Title, Version, Description string
	Prefix                      string
	Root                        string                        // of the module's source, for the comments
	Values                      map[reflect.Type][]string     // types with a fixed set of values
	Like                        map[reflect.Type]reflect.Type // types with the same JSON as another type
	Formats                     map[reflect.Type]*openapi3.Schema
	Extra                       []reflect.Type // types that appear in no response: those of streams
}

// Of generates the document from the rows.
func Of[T any](api API, rows []operation.Operation[T]) (*openapi3.T, error) {
	b := &builder{api: api, schemas: openapi3.Schemas{}, named: map[string]reflect.Type{}}
	doc := &openapi3.T{OpenAPI: "3.1.0", Paths: openapi3.NewPaths(),
		Info:    &openapi3.Info{Title: api.Title, Version: api.Version, Description: api.Description},
		Servers: openapi3.Servers{{URL: api.Prefix}}}
	for i := range rows {
		row := &rows[i]
		item := doc.Paths.Value(row.Path)
		if item == nil {
			item = &openapi3.PathItem{}
			doc.Paths.Set(row.Path, item)
		}
		item.SetOperation(row.Verb(), operationOf(b, row))
	}
	for _, t := range api.Extra {
		b.ref(t)
	}
	b.ref(reflect.TypeFor[problem.Problem]())
	doc.Components = &openapi3.Components{Schemas: b.schemas, Responses: responses(), SecuritySchemes: openapi3.SecuritySchemes{
		"token":   {Value: &openapi3.SecurityScheme{Type: "http", Scheme: "bearer", Description: "A token from the file http.access.tokens."}},
		"session": {Value: &openapi3.SecurityScheme{Type: "apiKey", In: "cookie", Name: "giverny_session", Description: "Set by POST /login."}}}}
	doc.Security = openapi3.SecurityRequirements{{"token": {}}, {"session": {}}}
	return doc, b.err
}

// Text returns the document in its committed form.
func Text(doc *openapi3.T) ([]byte, error) {
	text, err := json.MarshalIndent(doc, "", " ")
	return append(text, '\n'), err
}

// common returns the statuses of problems that any request may get.
func common() []int {
	return []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotAcceptable, http.StatusTooManyRequests,
		http.StatusBadGateway, http.StatusServiceUnavailable}
}

// problems returns the statuses of a row's problems.
func problems[T any](row *operation.Operation[T]) []int {
	all := append(common(), row.Problems...)
	for _, p := range operation.ParametersOf(row.Parameters()) {
		switch p.In {
		case "path":
			all = append(all, http.StatusNotFound)
		case "body":
			all = append(all, http.StatusUnsupportedMediaType, http.StatusRequestEntityTooLarge)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// responses returns the problem responses by their names in the document.
func responses() openapi3.ResponseBodies {
	all := openapi3.ResponseBodies{}
	for _, status := range []int{400, 401, 403, 404, 406, 409, 413, 415, 422, 429, 502, 503} {
		text := http.StatusText(status)
		r := &openapi3.Response{Description: &text, Content: openapi3.Content{"application/problem+json": {Schema: component("Problem")}}}
		if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
			r.Headers = openapi3.Headers{"Retry-After": {Value: &openapi3.Header{Parameter: openapi3.Parameter{
				Description: "Seconds to wait before a retry.", Schema: simple("integer").NewRef()}}}}
		}
		all[responseName(status)] = &openapi3.ResponseRef{Value: r}
	}
	return all
}

func responseName(status int) string { return strings.ReplaceAll(http.StatusText(status), " ", "") }

func component(name string) *openapi3.SchemaRef {
	return &openapi3.SchemaRef{Ref: "#/components/schemas/" + name}
}

func operationOf[T any](b *builder, row *operation.Operation[T]) *openapi3.Operation {
	op := &openapi3.Operation{OperationID: row.ID, Tags: []string{row.Tag}, Summary: row.Summary, Description: row.Description,
		Responses: openapi3.NewResponsesWithCapacity(0), Extensions: map[string]any{"x-role": row.Role.String()}}
	for _, p := range operation.ParametersOf(row.Parameters()) {
		if p.In == "body" {
			op.RequestBody = &openapi3.RequestBodyRef{Value: &openapi3.RequestBody{Required: true, Content: openapi3.Content{operation.JSON: {Schema: b.ref(p.Field.Type)}}}}
			continue
		}
		op.Parameters = append(op.Parameters, &openapi3.ParameterRef{Value: b.parameter(p)})
	}
	tagged := row.Verb() == http.MethodGet && (row.Raw.In == nil || row.RawType == operation.JSON)
	if tagged && op.Parameters.GetByInAndName("header", conditional) == nil {
		for _, p := range operation.ParametersOf(reflect.TypeFor[operation.Conditional]()) {
			op.Parameters = append(op.Parameters, &openapi3.ParameterRef{Value: b.parameter(p)})
		}
	}
	op.Responses.Set("200", &openapi3.ResponseRef{Value: answerOf(b, row)})
	if row.Empty {
		op.Responses.Set("204", plain("Nothing is stored for the request."))
	}
	if tagged {
		op.Responses.Set("304", plain("Nothing has changed since the answer with the ETag in If-None-Match."))
	}
	for _, status := range problems(row) {
		op.Responses.Set(strconv.Itoa(status), &openapi3.ResponseRef{Ref: "#/components/responses/" + responseName(status)})
	}
	return op
}

// conditional is the request header with the client's entity tag. Every tagged response supports it.
const conditional = "If-None-Match"

func plain(description string) *openapi3.ResponseRef {
	return &openapi3.ResponseRef{Value: &openapi3.Response{Description: &description}}
}

func answerOf[T any](b *builder, row *operation.Operation[T]) *openapi3.Response {
	ok := "OK"
	r := &openapi3.Response{Description: &ok, Content: openapi3.Content{}}
	switch {
	case row.RawType == operation.JSON:
		r.Content[operation.JSON] = &openapi3.MediaType{Schema: simple("object").NewRef()}
		return r
	case row.RawType != "":
		r.Content[row.RawType] = &openapi3.MediaType{Schema: simple("string").NewRef()}
		return r
	}
	if row.Verb() == http.MethodGet {
		r.Headers = openapi3.Headers{"ETag": {Value: &openapi3.Header{Parameter: openapi3.Parameter{
			Description: "For If-None-Match of the next request.", Schema: simple("string").NewRef()}}}}
	}
	if !row.TableOnly {
		out := row.Handler.Out
		if out.Kind() == reflect.Pointer { // nil is not a response but 204
			out = out.Elem()
		}
		r.Content[operation.JSON] = &openapi3.MediaType{Schema: b.ref(out)}
	}
	if row.Table || row.TableOnly {
		for _, format := range []string{operation.ArrowStream, operation.CSV} {
			s := simple("string")
			s.ContentMediaType = format
			r.Content[format] = &openapi3.MediaType{Schema: s.NewRef()}
		}
	}
	return r
}

func (b *builder) parameter(p operation.Parameter) *openapi3.Parameter {
	out := &openapi3.Parameter{Name: p.Name, In: p.In, Required: p.Required, Description: p.Doc, AllowEmptyValue: p.In == "query" && !p.Required}
	t := p.Field.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	s := b.inline(t)
	if s.Value != nil && (p.Min != nil || p.Max != nil || p.Default != "") {
		bounded := *s.Value
		if p.Min != nil {
			bounded.Min = p.Min
		}
		bounded.Max, bounded.Default = p.Max, defaultOf(bounded.Type, p.Default)
		s = bounded.NewRef()
	}
	if t.Kind() == reflect.Slice {
		no := false
		out.Style, out.Explode = "form", &no
	}
	out.Schema = s
	return out
}

func defaultOf(t *openapi3.Types, text string) any {
	if text == "" {
		return nil
	}
	if t.Is("string") {
		return text
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		panic(fmt.Sprintf("openapi: default %q: %v", text, err))
	}
	return v
}
