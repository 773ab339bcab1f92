package bluewaters

import (
	"fmt"
	"strings"
)

// Reason is why a row was dropped; it is a metric label.
type Reason uint8

// Reasons.
const (
	WrongColumns Reason = iota // differs from the number of columns of the file
	NotANumber
	NaN
	Negative
	TooLarge // over 100 percent, or a time beyond the year 2200
	Outside  // the coordinates are not on the torus
	Late     // behind the window
	Stray    // days away from all others: a broken clock
	Unheld   // of a file sorted whole, beyond the minutes that are held in memory
	NumReasons
)

var reasonNames = [NumReasons]string{"wrong_columns", "not_a_number", "nan", "negative", "too_large", "outside", "late", "stray", "unheld"}

func (r Reason) String() string { return reasonNames[r] }

var reasonTexts = [NumReasons]string{
	fmt.Sprintf("want %d columns, or as many as the header has", numColumns), "want a number", "not a number (NaN)", "negative",
	"more than 100 percent", "not on the torus", "older than the window", "days away from all other rows",
	fmt.Sprintf("a file not in the order of time has more than %d minutes", maxHeldMinutes)}

// LineError is a dropped row with the reason.
type LineError struct {
	File   string
	Line   int // from 1
	Column int // from 1
	Reason Reason
	Text   string // of the column, or of the line; cut short
}

func (e *LineError) Error() string {
	return fmt.Sprintf("%s:%d: column %d: %q: %s", e.File, e.Line, e.Column, e.Text, reasonTexts[e.Reason])
}

// Summary counts what became of the rows.
type Summary struct {
	Files       int
	Bytes       int64 // of decompressed text
	Rows        int64 // lines other than headers and empty ones
	Batches     int64 // one per minute
	Dropped     [NumReasons]int64
	FirstErrors []LineError // unparsable and unheld rows; the first Config.MaxLineErrors
	// FirstOutside are the first five coordinates that are not on the torus.
	FirstOutside []string
	// MaxLateMinutes is the largest distance of a late row from the newest one.
	MaxLateMinutes int64
	// WholeFiles are the files that were buffered whole because they are not in time
	// order.
	WholeFiles []string
}

// Bad is the number of rows that were dropped.
func (s Summary) Bad() (n int64) {
	for _, d := range s.Dropped {
		n += d
	}
	return n
}

// keptOutside rows are named in an error as examples.
const keptOutside = 5

// WrongTopologyError means that the rows describe another torus.
type WrongTopologyError struct {
	Rows, Outside int64
	First         []string
	Dims          [3]int
}

func (e *WrongTopologyError) Error() string {
	return fmt.Sprintf("wrong topology for the data: %d of %d rows lie outside the %dx%dx%d torus, the first at (%s); give the torus that the file was recorded on",
		e.Outside, e.Rows, e.Dims[0], e.Dims[1], e.Dims[2], strings.Join(e.First, "), ("))
}

// UnorderedError means that too many rows were late.
type UnorderedError struct {
	Rows, Late, MaxLateMinutes int64
	WindowMinutes              int
}

func (e *UnorderedError) Error() string {
	return fmt.Sprintf("the file is not in the order of time: %d of %d rows are late, by up to %d minutes, and window_minutes is %d; sort the file by its first column (sort -t, -k1,1n)",
		e.Late, e.Rows, e.MaxLateMinutes, e.WindowMinutes)
}

// TooLongError means that a file that is not in the order of time has too many minutes to sort it in memory.
type TooLongError struct {
	Rows, Unheld int64
}

func (e *TooLongError) Error() string {
	return fmt.Sprintf("the file is not in the order of time and has more than %d minutes, of which %d of %d rows were dropped; sort the file by its first column (sort -t, -k1,1n), or give a file per day",
		maxHeldMinutes, e.Unheld, e.Rows)
}

// NotDayFilesError means that no row could be parsed.
type NotDayFilesError struct {
	Rows  int64
	First LineError
}

func (e *NotDayFilesError) Error() string {
	return fmt.Sprintf("none of %d rows can be parsed, the first: %v; give day files of the Blue Waters release", e.Rows, &e.First)
}

// minRowsToJudge is the number of rows before the share of bad ones can end the
// reading.
const minRowsToJudge = 10_000

// judge returns an error if the data cannot match the configuration.
func (s *Summary) judge(cfg *Config, atEnd bool) error {
	if s.Rows < minRowsToJudge && !atEnd {
		return nil
	}
	over := func(n int64, percent float64) bool { return float64(n) > float64(s.Rows)*percent/100 }
	if n := s.Dropped[Outside]; n > 0 && over(n, cfg.MaxOutsidePercent) {
		return &WrongTopologyError{Rows: s.Rows, Outside: n, First: s.FirstOutside, Dims: cfg.Dims}
	}
	if n := s.Dropped[Late]; n > 0 && over(n, cfg.MaxLatePercent) {
		return &UnorderedError{Rows: s.Rows, Late: n, MaxLateMinutes: s.MaxLateMinutes, WindowMinutes: cfg.WindowMinutes}
	}
	if n := s.Dropped[Unheld]; n > 0 && over(n, cfg.MaxLatePercent) {
		return &TooLongError{Rows: s.Rows, Unheld: n}
	}
	if atEnd && len(s.FirstErrors) > 0 && s.Bad() == s.Rows { // before the end it may be one damaged file of several
		return &NotDayFilesError{Rows: s.Rows, First: s.FirstErrors[0]}
	}
	return nil
}
