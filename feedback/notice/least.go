package notice

import (
	"fmt"

	"github.com/giverny/giverny/schema"
)

// LeastSeverity is the severity from which on regions are reported: Low, Medium or High. Below Low there is nothing to report.
type LeastSeverity schema.Severity

// Valid reports whether it is one of the three.
func (s LeastSeverity) Valid() bool {
	return schema.Severity(s) >= schema.Low && schema.Severity(s) <= schema.High
}

func (s LeastSeverity) String() string { return schema.Severity(s).String() }

// MarshalText encodes the severity as its name.
func (s LeastSeverity) MarshalText() ([]byte, error) { return schema.Severity(s).MarshalText() }

// UnmarshalText parses a severity's name.
func (s *LeastSeverity) UnmarshalText(text []byte) error {
	var severity schema.Severity
	if err := severity.UnmarshalText(text); err != nil || !LeastSeverity(severity).Valid() {
		return fmt.Errorf("%q: want Low, Medium or High", text)
	}
	*s = LeastSeverity(severity)
	return nil
}
