// Package cputime measures benchmarks by the CPU time of the process, which does not depend on the load of the machine.
package cputime

import (
	"syscall"
	"testing"
	"time"
)

// Used is the CPU time so far.
func Used(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Millis is Used in milliseconds.
func Millis(tb testing.TB) float64 {
	tb.Helper()
	return Used(tb).Seconds() * 1e3
}
