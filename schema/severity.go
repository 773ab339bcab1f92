package schema

import (
	"fmt"
	"strings"
)

// Severity grades a region by the mean stall of its links (Monet, section 4.1).
type Severity uint8

// The levels of Monet: Neg < 5% <= Low < 15% <= Medium < 25% <= High. The paper
// writes "> 25%" for High; a mean of exactly 25 is High here, so that every
// value has a level.
const (
	Negligible Severity = iota
	Low
	Medium
	High
)

// The mean stalls, in percent of time, at which the levels begin.
const (
	LowPercent    = 5
	MediumPercent = 15
	HighPercent   = 25
)

// Severities lists the levels in ascending order.
var Severities = [...]Severity{Negligible, Low, Medium, High}

var severityNames = [...]string{"Neg", "Low", "Medium", "High"}

// SeverityOf returns the level of a mean stall in percent of time.
func SeverityOf(meanPercent float64) Severity {
	switch {
	case meanPercent >= HighPercent:
		return High
	case meanPercent >= MediumPercent:
		return Medium
	case meanPercent >= LowPercent:
		return Low
	}
	return Negligible
}

func (s Severity) String() string {
	if int(s) < len(severityNames) {
		return severityNames[s]
	}
	return fmt.Sprintf("Severity(%d)", uint8(s))
}

// MarshalText encodes the level as its name, in JSON and YAML.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText parses a level's name.
func (s *Severity) UnmarshalText(b []byte) error {
	for i, n := range severityNames {
		if n == string(b) {
			*s = Severity(i)
			return nil
		}
	}
	return fmt.Errorf("severity %q: want one of %s", b, strings.Join(severityNames[:], ", "))
}
