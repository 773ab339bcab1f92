package failures

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/giverny/giverny/collectors/feeds"
	"github.com/giverny/giverny/schema"
)

// Options say how to read a log.
type Options struct {
	Format string         // of Formats; empty: each line by its looks
	Zone   *time.Location // of times that have none; nil: UTC
	// Reference is a time at or shortly before which the last line was written: it tells the year of times that
	// have none.
	Reference time.Time
	Host      string // that lines without one are of
	Name      string // of the log, in faults
}

// form is how lines of one kind are read.
type form struct {
	name string
	line func(p *Parser, line string) (schema.Failure, outcome)
}

// outcome of a line.
type outcome uint8

const (
	notMine   outcome = iota // a line of another form
	nothing                  // of this form, and no failure
	found                    // a failure
	malformed                // of this form, and unreadable
	unknown                  // a failure of a kind that there is none of
	noTime                   // a failure without a time
)

// forms are tried in this order where none is named.
func forms() []form {
	return []form{
		{"table", (*Parser).table},
		{"opensm", (*Parser).opensm},
		{"ibdiagnet", (*Parser).ibdiagnet},
		{"netwatch", (*Parser).netwatch},
		{"syslog", (*Parser).syslog},
	}
}

// Formats lists the names of the forms of logs.
func Formats() (names []string) {
	for _, f := range forms() {
		names = append(names, f.name)
	}
	return names
}

// Parser reads a log line by line. It remembers what earlier lines said of later ones: the header of a table, the
// time of a report.
type Parser struct {
	opt     Options
	forms   []form
	columns map[string]int // of a table; nil: as in the interface
	comma   rune           // of a table; 0: not known yet
	report  time.Time      // of an ibdiagnet report
	before  time.Time      // the last time without a zone
}

// NewParser makes a parser.
func NewParser(opt Options) (*Parser, error) {
	if opt.Zone == nil {
		opt.Zone = time.UTC
	}
	p := &Parser{opt: opt, forms: forms()}
	if opt.Format != "" {
		i := slices.IndexFunc(p.forms, func(f form) bool { return f.name == opt.Format })
		if i < 0 {
			return nil, fmt.Errorf("format %q: want %s, or nothing", opt.Format, strings.Join(Formats(), ", "))
		}
		p.forms = p.forms[i : i+1]
	}
	return p, nil
}

// Refer sets the reference for years.
func (p *Parser) Refer(t time.Time) { p.opt.Reference = t }

// Line reads a line into rows: a failure, or something to count. An empty line is neither.
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
			rows.Refuse(feeds.Malformed, p.opt.Name, "a line that cannot be read: "+line)
		case unknown:
			rows.Refuse(feeds.UnknownKind, p.opt.Name, "a kind that there is none of: "+line)
		case noTime:
			rows.Refuse(feeds.NoTime, p.opt.Name, "a failure without a time that can be read: "+line)
		case nothing:
			rows.Drop(feeds.NotAFailure, 1)
		}
		return
	}
	rows.Drop(feeds.UnknownForm, 1)
}

// yearless puts a year to a time that has none: the latest by which it is not after the reference, with a day's grace
// for clocks and zones. The 29th of February goes to a leap year.
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

// zoned reads a time with a date: RFC 3339, or without a zone in the one configured.
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

// justWritten is how long before the reference, or after, the time of a line may be that was written at that time; lines
// of a log may stand in another order by as much.
const justWritten = 5 * time.Minute

// unzoned is the right reading of a time that had no zone. In the hour that clocks repeat when daylight saving time ends
// there are two: it is the later one where the line was written just now, or where the line before it is later than
// the earlier one.
func (p *Parser) unzoned(t time.Time) time.Time {
	first, second := readings(t)
	t = first
	if p.opt.Reference.Sub(second).Abs() <= justWritten || p.before.Sub(first) > justWritten && p.before.Before(second.Add(justWritten)) {
		t = second
	}
	p.before = t
	return t
}

// readings are the earlier and the later instant at which the clocks of a time's zone show what they show at it; they
// are the same but for hours that are repeated.
func readings(t time.Time) (first, second time.Time) {
	const day = 24 * time.Hour
	_, before := t.Add(-day).Zone()
	_, after := t.Add(day).Zone()
	_, here := t.Zone()
	wall := t.Add(time.Duration(here) * time.Second)
	first, second = wall.Add(-time.Duration(before)*time.Second), wall.Add(-time.Duration(after)*time.Second)
	if _, offset := first.Zone(); offset != before {
		first = t
	}
	if _, offset := second.Zone(); offset != after {
		second = t
	}
	return first, second
}

func instant(t time.Time) schema.Instant { return schema.Instant(t.UnixNano()) }
