// Package operation is the frame of an HTTP API as a table: each row is an operation with the Go types of its
// parameters and of its answer. It reads and checks the parameters, negotiates representation and compression,
// answers with JSON, Arrow, CSV or a problem (RFC 9457), and knows entity tags. The OpenAPI document is made from the
// same rows. What the operations do is their handlers'.
package operation

import (
	"context"
	"net/http"
	"reflect"
	"time"

	"github.com/giverny/giverny/internal/access"
)

// Operation is a row of an API whose handlers belong to a T.
type Operation[T any] struct {
	ID          string // unique; generated clients call their functions by it
	Method      string // empty is GET
	Path        string // below the API's prefix, such as /fabrics/{fabric}
	Tag         string // group in the reference
	Summary     string // one line
	Description string // what else is to be known; Markdown
	// The least role that may ask; the zero value is the viewer.
	Role access.Role
	// How long it may take; 0 is the server's own bound.
	Timeout time.Duration
	// Table says that the answer implements Table, too; TableOnly that it has no JSON.
	Table, TableOnly bool
	// Empty says that there may be nothing to answer with: 204.
	Empty bool
	// Statuses of problems beyond those that follow from the parameters.
	Problems []int

	Handler Handler[T]
	// Raw answers itself, instead of Handler, with this media type. Its parameters are bound like any other's.
	Raw     RawHandler[T]
	RawType string
}

// Handler answers with a value. It is made by To.
type Handler[T any] struct {
	In, Out reflect.Type // the struct of the parameters, and the type of the answer
	call    func(T, context.Context, any) (any, error)
}

// To makes a Handler of a method. In's fields are tagged path, query, header or body.
func To[T, In, Out any](f func(T, context.Context, *In) (Out, error)) Handler[T] {
	return Handler[T]{In: reflect.TypeFor[In](), Out: reflect.TypeFor[Out](),
		call: func(t T, ctx context.Context, in any) (any, error) { return f(t, ctx, in.(*In)) }}
}

// RawHandler writes its answer itself. It is made by ToRaw.
type RawHandler[T any] struct {
	In   reflect.Type
	call func(T, http.ResponseWriter, *http.Request, any) error
}

// ToRaw makes a RawHandler of a method. An error before anything is written is answered with a problem.
func ToRaw[T, In any](f func(T, http.ResponseWriter, *http.Request, *In) error) RawHandler[T] {
	return RawHandler[T]{In: reflect.TypeFor[In](),
		call: func(t T, w http.ResponseWriter, r *http.Request, in any) error { return f(t, w, r, in.(*In)) }}
}

// Parameters is the type of the struct of the parameters.
func (o *Operation[T]) Parameters() reflect.Type {
	if o.Raw.In != nil {
		return o.Raw.In
	}
	return o.Handler.In
}

// Verb is the method, GET where none is named.
func (o *Operation[T]) Verb() string {
	if o.Method == "" {
		return http.MethodGet
	}
	return o.Method
}
