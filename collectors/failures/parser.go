package failures

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/giverny/giverny/collectors/feeds"
	"github.com/giverny/giverny/schema"
)

// Options are how to parse a log.
type Options struct {
	Format string         // one of Formats; empty: detected for each line
	Zone   *time.Location // for times without a zone; nil: UTC
	// Reference is the time of the last line or shortly after. It determines the year of times without one.
	Reference time.Time
	Host      string // for lines without a host
	Name      string // of the log, for faults
}

// form is a log format with its line parser.
type form struct {
	name string
	line func(p *Parser, line string) (schema.Failure, outcome)
}

// outcome of parsing a line.
type outcome uint8

const (
	notMine   outcome = iota // not in this format
	nothing                  // in this format, but no failure
	found                    // a failure
	malformed                // in this format, but malformed
	unknown                  // a failure of an unknown kind
	noTime                   // a failure without a time
)

// forms are the formats in the order in which they are tried.
func forms() []form {
	return []form{
		{"table", (*Parser).table},
		{"opensm", (*Parser).opensm},
		{"ibdiagnet", (*Parser).ibdiagnet},
		{"netwatch", (*Parser).netwatch},
		{"syslog", (*Parser).syslog},
	}
}

// Formats lists the names of the log formats.
func Formats() (names []string) {
	for _, f := range forms() {
		names = append(names, f.name)
	}
	return names
}

// Parser parses a log line by line. It keeps context from earlier lines: the header of a table, the time of a
// report.
type Parser struct {
	opt     Options
	forms   []form
	columns map[string]int // of a table; nil: default order
	comma   rune           // delimiter of a table; 0: not known yet
	report  time.Time      // of an ibdiagnet report
	before  time.Time      // the previous time without a zone
}

// NewParser returns a parser.
func NewParser(opt Options) (*Parser, error) {
	if opt.Zone == nil {
		opt.Zone = time.UTC
	}
	p := &Parser{opt: opt, forms: forms()}
	if opt.Format != "" {
		i := slices.IndexFunc(p.forms, func(f form) bool { return f.name == opt.Format })
		if i < 0 {
			return nil, fmt.Errorf("format %q: want %s, or empty", opt.Format, strings.Join(Formats(), ", "))
		}
		p.forms = p.forms[i : i+1]
	}
	return p, nil
}

// Refer sets Options.Reference.
func (p *Parser) Refer(t time.Time) { p.opt.Reference = t }

// Line parses a line and adds a failure or a drop to rows. Empty lines are ignored.
func (p *Parser) Line(line string, rows *feeds.Rows) {
	line = strings.TrimRight(line, "\r\n")
	if strings.TrimSpace(line) == "" {
		return
	}
	for _, f := range p.forms {
		failure, outcome := f.line(p, line)
		switch outcome {
		case notMine:
			continue
		case found:
			failure.Device, failure.Port = strings.ToValidUTF8(failure.Device, "\uFFFD"), strings.ToValidUTF8(failure.Port, "\uFFFD")
			failure.Detail = feeds.Clean(failure.Detail, 500)
			rows.Failures = append(rows.Failures, failure)
		case malformed:
			rows.Refuse(feeds.Malformed, p.opt.Name, "unparsable line: "+line)
		case unknown:
			rows.Refuse(feeds.UnknownKind, p.opt.Name, "unknown kind: "+line)
		case noTime:
			rows.Refuse(feeds.NoTime, p.opt.Name, "no parsable time: "+line)
		case nothing:
			rows.Drop(feeds.NotAFailure, 1)
		}
		return
	}
	rows.Drop(feeds.UnknownForm, 1)
}

// yearless adds the year to a time without one: the latest for which it is not after the reference, with a tolerance
// of a day for clocks and zones. February 29 gets a leap year.
func (p *Parser) yearless(month time.Month, day, hour, minute, second, nanos int) (time.Time, bool) {
	latest := p.opt.Reference.Add(24 * time.Hour)
	for back := range 9 {
		t := time.Date(latest.In(p.opt.Zone).Year()-back, month, day, hour, minute, second, nanos, p.opt.Zone)
		if t.Day() == day && !t.After(latest) {
			return p.unzoned(t), true
		}
	}
	return time.Time{}, false
}

// zoned parses a date and time: RFC 3339, or without a zone in the configured one.
func (p *Parser) zoned(text string) (time.Time, bool) {
	text = strings.Replace(text, ",", ".", 1) // dmesg --time-format=iso
	for i, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999Z0700", "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999"} {
		t, err := time.ParseInLocation(layout, text, p.opt.Zone)
		switch {
		case err != nil || t.Year() <= 1970 || t.Year() >= 2200:
		case i < 2:
			return t, true
		default:
			return p.unzoned(t), true
		}
	}
	return time.Time{}, false
}

// justWritten is how far the time of a line that was just written may be from the reference. Lines of a log may be out of
// order by as much.
const justWritten = 5 * time.Minute

// unzoned disambiguates a time without a zone in the hour that is repeated when daylight saving time ends: it is the
// later instant if the line was just written then, or if the previous line is later than the earlier instant.
func (p *Parser) unzoned(t time.Time) time.Time {
	first, second := schema.LocalMeanings(t)
	t = first
	if p.opt.Reference.Sub(second).Abs() <= justWritten || p.before.Sub(first) > justWritten && p.before.Before(second.Add(justWritten)) {
		t = second
	}
	p.before = t
	return t
}
