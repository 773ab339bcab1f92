// Package await polls in tests until a condition holds. Input: the condition, how long it may take and how often it is
// checked. Output: whether it held in time; if it did not, Until fails the test and names what was awaited.
package await

import "time"

// T is what *testing.T, *testing.B and *testing.F have in common.
type T interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Until waits until a condition holds, or fails the test: "waited 1m0s for ...". It is checked at once, then every so often,
// and once more when the time is over.
func Until(t T, what string, within, every time.Duration, holds func() bool) {
	t.Helper()
	if !Holds(within, every, holds) {
		t.Fatalf("waited %v for %s", within, what)
	}
}

// Holds is Until for a caller that reports the failure itself, such as with what it last saw.
func Holds(within, every time.Duration, holds func() bool) bool {
	for deadline := time.Now().Add(within); !holds(); time.Sleep(every) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}
