// Package operation is a framework for an HTTP API as a table: each row is an operation with the Go types of its
// parameters and of its response. It parses and validates the parameters, negotiates representation and compression,
// responds with JSON, Arrow, CSV or a problem (RFC 9457), and handles entity tags. The OpenAPI document is generated
// from the same rows. The operations themselves are up to their handlers.
package operation

import (
	"context"
	"net/http"
	"reflect"
	"time"

	"github.com/giverny/giverny/internal/access"
)

// Operation is a row of an API whose handlers are methods of a T.
type Operation[T any] struct {
	ID          string // unique; generated clients name their functions after it
	Method      string // empty means GET
	Path        string // below the API's prefix, such as /fabrics/{fabric}
	Tag         string // group in the reference
	Summary     string // one line
	Description string // additional information; Markdown
	// The minimum role; the zero value is the viewer.
	Role access.Role
	// Time limit; 0 means that of the server.
	Timeout time.Duration
	// Table means that the response also implements Table; TableOnly that it has no JSON.
	Table, TableOnly bool
	// Empty means that there may be nothing to respond with: 204.
	Empty bool
	// Statuses of problems beyond those that follow from the parameters.
	Problems []int

	Handler Handler[T]
	// Raw writes the response itself, instead of Handler, with media type RawType. Its parameters are bound as usual.
	Raw     RawHandler[T]
	RawType string
}

// Handler returns a value as the response. To makes one.
type Handler[T any] struct {
	In, Out reflect.Type // the parameter struct, and the type of the response
	call    func(T, context.Context, any) (any, error)
}

// To makes a Handler from a method. In's fields are tagged path, query, header or body.
func To[T, In, Out any](f func(T, context.Context, *In) (Out, error)) Handler[T] {
	return Handler[T]{In: reflect.TypeFor[In](), Out: reflect.TypeFor[Out](),
		call: func(t T, ctx context.Context, in any) (any, error) { return f(t, ctx, in.(*In)) }}
}

// RawHandler writes its response itself. ToRaw makes one.
type RawHandler[T any] struct {
	In   reflect.Type
	call func(T, http.ResponseWriter, *http.Request, any) error
}

// ToRaw makes a RawHandler from a method. If it fails before writing anything, the response is a problem.
func ToRaw[T, In any](f func(T, http.ResponseWriter, *http.Request, *In) error) RawHandler[T] {
	return RawHandler[T]{In: reflect.TypeFor[In](),
		call: func(t T, w http.ResponseWriter, r *http.Request, in any) error { return f(t, w, r, in.(*In)) }}
}

// Parameters returns the type of the parameter struct.
func (o *Operation[T]) Parameters() reflect.Type {
	if o.Raw.In != nil {
		return o.Raw.In
	}
	return o.Handler.In
}

// Verb returns the method, GET if empty.
func (o *Operation[T]) Verb() string {
	if o.Method == "" {
		return http.MethodGet
	}
	return o.Method
}
