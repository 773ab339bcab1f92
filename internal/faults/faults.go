// Package faults collects what is wrong with a configuration. Each fault begins
// with the key it stands at, as the YAML file spells it relative to its section;
// the one that composes sections puts the section's key before the faults of its
// parts. Values in, errors out; it knows no configuration.
package faults

import (
	"errors"
	"fmt"
)

// List is the faults found so far. The zero List is empty and ready.
type List struct{ errs []error }

// Check adds a fault at key unless ok holds.
func (l *List) Check(ok bool, key, format string, args ...any) {
	if !ok {
		l.Add(key, format, args...)
	}
}

// Add adds a fault at key.
func (l *List) Add(key, format string, args ...any) {
	l.errs = append(l.errs, fmt.Errorf(key+": "+format, args...))
}

// Under adds the faults of a part whose keys stand under key; with an empty key,
// of a part whose keys are inlined among the others.
func (l *List) Under(key string, err error) {
	if key != "" {
		err = At(key, err)
	}
	if err != nil {
		l.errs = append(l.errs, err)
	}
}

// Err joins the faults; it is nil if there are none.
func (l *List) Err() error { return errors.Join(l.errs...) }

// At puts key before each of the errors that err joins: "workers: 0" under
// "collect" becomes "collect.workers: 0".
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
