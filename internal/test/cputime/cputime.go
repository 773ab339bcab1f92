// Package cputime measures benchmarks by the time that the process has had of the processors: unlike the clock it does not depend
// on what else the machine does.
package cputime

import (
	"syscall"
	"testing"
	"time"
)

// Used is that time so far.
func Used(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Millis is the same in ms.
func Millis(tb testing.TB) float64 {
	tb.Helper()
	return Used(tb).Seconds() * 1e3
}
