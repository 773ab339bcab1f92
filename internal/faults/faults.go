// Package faults collects the errors in a configuration. Each begins with its key, as
// spelled in the YAML file and relative to its section; a composing section prefixes
// its own key to the errors of its parts.
package faults

import (
	"errors"
	"fmt"
)

// List is a list of errors. The zero List is empty and ready to use.
type List struct{ errs []error }

// Check adds an error at key unless ok holds.
func (l *List) Check(ok bool, key, format string, args ...any) {
	if !ok {
		l.Add(key, format, args...)
	}
}

// Add adds an error at key.
func (l *List) Add(key, format string, args ...any) {
	l.errs = append(l.errs, fmt.Errorf(key+": "+format, args...))
}

// Under adds the errors of a part whose keys are under key, or, if key is empty,
// inlined among the others.
func (l *List) Under(key string, err error) {
	if key != "" {
		err = At(key, err)
	}
	if err != nil {
		l.errs = append(l.errs, err)
	}
}

// Err joins the errors; it is nil if there are none.
func (l *List) Err() error { return errors.Join(l.errs...) }

// At prefixes key to each of the errors joined in err: "workers: 0" under "collect"
// becomes "collect.workers: 0".
func At(key string, err error) error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return &fault{key, err}
	}
	var errs []error
	for _, e := range joined.Unwrap() {
		errs = append(errs, At(key, e))
	}
	return errors.Join(errs...)
}

// fault is an error at a key, or under one.
type fault struct {
	key string
	err error
}

func (f *fault) Error() string { return f.key + "." + f.err.Error() }

func (f *fault) Unwrap() error { return f.err }
