package operation

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/giverny/giverny/internal/access"
	"github.com/giverny/giverny/internal/problem"
)

// Served describes a served request.
type Served struct {
	Operation string // its path
	Status    int
	Duration  time.Duration
	Err       error // a failure that is not the client's fault; else nil
}

// clientLeft is the status that is counted for a request whose client did not wait for the response.
const clientLeft = 499

// Server serves requests by the rows of a table.
type Server[T any] struct {
	Of     T
	Prefix string // of all paths, such as /api/v1
	Rows   []Operation[T]
	// Time limit of operations without one of their own.
	Timeout time.Duration
	// Explain converts an error that is not a problem.
	Explain func(error) *problem.Problem
	// Observe is called after each request.
	Observe func(Served)
}

// Register adds the rows to mux. Other requests below the prefix get a problem: 404, or 405 with the methods of
// the path.
func (s *Server[T]) Register(mux *http.ServeMux) {
	methods := map[string][]string{}
	for i := range s.Rows {
		row := &s.Rows[i]
		mux.Handle(row.Verb()+" "+s.Prefix+row.Path, s.handler(row))
		methods[row.Path] = append(methods[row.Path], row.Verb())
		if row.Verb() == http.MethodGet {
			methods[row.Path] = append(methods[row.Path], http.MethodHead)
		}
	}
	for path, allowed := range methods {
		slices.Sort(allowed)
		allow := strings.Join(allowed, ", ")
		mux.HandleFunc(s.Prefix+path, func(w http.ResponseWriter, r *http.Request) {
			s.fail(w, problem.Method(r, allow))
		})
	}
	mux.HandleFunc(s.Prefix+"/", func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, problem.New(http.StatusNotFound, "no such path; GET %s/openapi.json describes the API", s.Prefix))
	})
}

// fail answers a request that is of no operation.
func (s *Server[T]) fail(w http.ResponseWriter, p *problem.Problem) {
	p.Write(w)
	s.Observe(Served{Operation: "other", Status: p.Status})
}

// handler serves one row.
func (s *Server[T]) handler(row *Operation[T]) http.Handler {
	parameters := ParametersOf(row.Parameters())
	offers := []string{JSON}
	switch {
	case row.Raw.In != nil:
		offers = []string{row.RawType}
	case row.TableOnly:
		offers = []string{ArrowStream, CSV}
	case row.Table:
		offers = append(offers, ArrowStream, CSV)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		status, err := s.answer(w, r, row, parameters, offers)
		served := Served{Operation: strings.TrimPrefix(row.Path, "/"), Status: status, Err: err}
		if err != nil && status == 0 {
			served.Status, served.Err = s.answerError(w, r, err)
		}
		served.Duration = time.Since(began)
		s.Observe(served)
		if err != nil && status != 0 { // the client must not take the partial response for complete
			panic(http.ErrAbortHandler)
		}
	})
}

// answer returns the status written, or an error with status 0 if nothing was written.
func (s *Server[T]) answer(w http.ResponseWriter, r *http.Request, row *Operation[T], parameters []Parameter, offers []string) (int, error) {
	if err := allowed(r, row.Role); err != nil {
		return 0, err
	}
	offer := choose(r.Header.Get("Accept"), offers, mediaType)
	if offer == "" {
		return 0, problem.New(http.StatusNotAcceptable, "accept %q: want %s", r.Header.Get("Accept"), strings.Join(offers, " or "))
	}
	in := reflect.New(row.Parameters())
	if err := bind(r, parameters, in); err != nil {
		return 0, err
	}
	if row.Raw.In != nil {
		counted := &counting{ResponseWriter: w}
		err := row.Raw.call(s.Of, counted, r, in.Interface())
		return counted.status, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.bound(row))
	defer cancel()
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.bound(row) + writeMargin)) // unsupported by the ResponseWriters of some tests
	value, err := row.Handler.call(s.Of, ctx, in.Interface())
	if tag, ok := asNotModified(err); ok {
		return writeNotModified(w, tag), nil
	}
	if err != nil {
		if ctx.Err() == context.DeadlineExceeded && r.Context().Err() == nil {
			err = errors.Join(problem.New(http.StatusServiceUnavailable, "timed out after %v; request a shorter span", s.bound(row)), err)
		}
		return 0, err
	}
	if row.Empty && reflect.ValueOf(value).IsNil() {
		w.WriteHeader(http.StatusNoContent)
		return http.StatusNoContent, nil
	}
	if offer == ArrowStream || offer == CSV {
		return writeTable(w, r, value.(Table), offer)
	}
	return writeValue(w, r, value)
}

// writeMargin is how long a client may take to read a response beyond the operation's time limit.
const writeMargin = time.Minute

func (s *Server[T]) bound(row *Operation[T]) time.Duration {
	if row.Timeout > 0 {
		return row.Timeout
	}
	return s.Timeout
}

// allowed returns nil if the client has the role.
func allowed(r *http.Request, least access.Role) error {
	who := access.Of(r.Context())
	if who.Role < least {
		return problem.New(http.StatusForbidden, "%s has the role %s; this requires the role %s", who.Name, who.Role, least)
	}
	return nil
}

// answerError writes an error as a problem, and returns it if it is not the client's fault.
func (s *Server[T]) answerError(w http.ResponseWriter, r *http.Request, err error) (int, error) {
	if r.Context().Err() != nil {
		return clientLeft, nil
	}
	var p *problem.Problem
	if !errors.As(err, &p) {
		p = s.Explain(err)
	}
	p.Write(w)
	if p.Status < http.StatusInternalServerError {
		return p.Status, nil
	}
	return p.Status, fmt.Errorf("%s: %w", r.URL.Path, err)
}

// counting records the status that was written.
type counting struct {
	http.ResponseWriter
	status int
}

func (c *counting) WriteHeader(status int) {
	if c.status == 0 {
		c.status = status
	}
	c.ResponseWriter.WriteHeader(status)
}

func (c *counting) Write(b []byte) (int, error) {
	if c.status == 0 {
		c.status = http.StatusOK
	}
	return c.ResponseWriter.Write(b)
}

// Unwrap gives http.ResponseController access to the connection.
func (c *counting) Unwrap() http.ResponseWriter { return c.ResponseWriter }
