package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/giverny/giverny/internal/atomicfile"
	"github.com/giverny/giverny/internal/plainfile"
	"github.com/giverny/giverny/search"
	"github.com/giverny/giverny/search/engine"
)

// journal is the log of a search: a line of JSON for the search, one per measurement
// and one per finding. A line counts only if its newline is written; a partial last
// line, of a process that was killed, is truncated.
type journal struct {
	file *os.File
	path string
}

// logVersion is the version of the line format.
const logVersion = 1

// Types of lines, other than findings.
const (
	lineSearch      = "search"
	lineMeasurement = "measurement"
)

// Header is the log's first line.
type Header struct {
	Type     string    `json:"type"` // "search"
	Version  int       `json:"version"`
	Time     time.Time `json:"time"`
	Settings Settings  `json:"settings"`
}

// Settings determine the course of a search: a log can be resumed only with the same ones.
type Settings struct {
	Description search.Description `json:"description"`
	Algorithm   search.Algorithm   `json:"algorithm"`
	Budget      int                `json:"budget"`
	Pairs       int                `json:"pairs"`
	Seed        uint64             `json:"seed"`
	Restrict    search.Restriction `json:"restrict,omitempty"`
	Known       string             `json:"known,omitempty"`
}

// Measured is a line of the log.
type Measured struct {
	Type        string             `json:"type"` // "measurement"
	Time        time.Time          `json:"time"`
	Pair        int                `json:"pair"` // from 1
	ID          int                `json:"id"`   // counts the pair's measurements from 1, including invalid ones
	Workload    json.RawMessage    `json:"workload"`
	Measurement search.Measurement `json:"measurement"`
	Fault       string             `json:"fault,omitempty"` // the engine's error
}

// openJournal opens or creates a log, and locks it against other processes.
func openJournal(path string) (*journal, []byte, error) {
	if err := plainfile.Check(path); err != nil {
		return nil, nil, err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, nil, err
	}
	j := &journal{file: file, path: path}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("log %s: in use by another search", path), file.Close())
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	if len(text) == 0 { // it may be new
		if err := atomicfile.SyncDir(filepath.Dir(path)); err != nil {
			return nil, nil, errors.Join(logError(path, err), file.Close())
		}
	}
	whole := text[:bytes.LastIndexByte(text, '\n')+1]
	if err := isLog(text, whole); err != nil { // before anything is truncated
		return nil, nil, errors.Join(logError(path, err), file.Close())
	}
	if len(whole) < len(text) {
		if err := file.Truncate(int64(len(whole))); err != nil {
			return nil, nil, errors.Join(fmt.Errorf("truncate the incomplete last line: %w", logError(path, err)), file.Close())
		}
	}
	return j, whole, nil
}

// logError names the log, once.
func logError(path string, err error) error {
	return fmt.Errorf("log: %w", plainfile.Naming(path, err))
}

// headerBegins is the beginning of every log.
const headerBegins = `{"type":"` + lineSearch + `"`

// isLog returns an error if a file is not a log. Without a complete line it must be the
// beginning of a header.
func isLog(text, whole []byte) error {
	if len(whole) == 0 {
		n := min(len(text), len(headerBegins))
		if string(text[:n]) != headerBegins[:n] {
			return errNoLog
		}
		return nil
	}
	line, _, _ := bytes.Cut(whole, []byte("\n"))
	_, err := parseHeader(line)
	return err
}

// close accepts a nil journal.
func (j *journal) close() error {
	if j == nil {
		return nil
	}
	return j.file.Close()
}

// append writes a line.
func (j *journal) append(line any) error {
	text, err := json.Marshal(line)
	if err == nil {
		_, err = j.file.Write(append(text, '\n'))
	}
	if err != nil {
		return logError(j.path, err)
	}
	return nil
}

// measured writes a measurement and syncs it to disk.
func (j *journal) measured(got result, fault *engine.Fault) error {
	workload, err := json.Marshal(got.workload)
	if err != nil {
		return err
	}
	line := Measured{Type: lineMeasurement, Time: time.Now().UTC(), Pair: got.pair + 1, ID: got.id, Workload: workload, Measurement: got.measurement}
	if fault != nil {
		line.Fault = fault.Error()
	}
	if err := j.append(line); err != nil {
		return err
	}
	return j.file.Sync()
}

// finding writes a finding. It can be derived from the measurements before it, so it is
// not synced.
func (j *journal) finding(f search.Finding) error { return j.append(f) }

// damagedAdvice is for a log that was edited or damaged; a truncated log is simply resumed.
const damagedAdvice = "the log is damaged: to resume from before this line, delete it and all following lines"

// replay feeds a log's measurements to the search, and appends the findings that are
// missing in the log.
func (r *runner) replay(text []byte) error {
	var found []search.Finding
	logged := 0
	for n, line := range bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")) {
		var kind struct {
			Type string `json:"type"`
		}
		if err := json.Unmarshal(line, &kind); err != nil {
			return fmt.Errorf("line %d: %w; %s", n+1, err, damagedAdvice)
		}
		var err error
		var news []search.Finding
		switch {
		case kind.Type == lineSearch:
		case kind.Type == lineMeasurement:
			news, err = r.again(line)
		default:
			logged++
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n+1, err)
		}
		found = append(found, news...)
		if err := r.announce(news); err != nil {
			return err
		}
	}
	if logged > len(found) {
		return fmt.Errorf("it has %d findings, but its measurements give %d: it was written by another version of giverny", logged, len(found))
	}
	for _, f := range found[logged:] {
		if err := r.journal.finding(f); err != nil {
			return err
		}
	}
	return nil
}

// again feeds a measurement of the log to the search.
func (r *runner) again(line []byte) ([]search.Finding, error) {
	var m Measured
	if err := json.Unmarshal(line, &m); err != nil {
		return nil, err
	}
	i := m.Pair - 1
	if i < 0 || i >= len(r.pairs) || m.ID != r.pairs[i].asked+1 {
		return nil, fmt.Errorf("measurement %d of pair %d does not follow from the lines before it; %s", m.ID, m.Pair, damagedAdvice)
	}
	w, ok := r.search.Next(i)
	if !ok {
		return nil, fmt.Errorf("a measurement beyond the budget of %d", r.Search.Budget)
	}
	asked, err := json.Marshal(w)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(asked, m.Workload) {
		return nil, errors.New("this search would have requested another workload: the log was written by another version of giverny")
	}
	r.pairs[i].asked = m.ID
	return r.observe(i, m.Measurement), nil
}

// sameSearch compares a log's settings with those of a search, and returns the log's
// description, whose bounds may differ.
func sameSearch(logged []byte, want Settings) (search.Description, error) {
	line, _, _ := bytes.Cut(logged, []byte("\n"))
	h, err := parseHeader(line)
	if err != nil {
		return search.Description{}, err
	}
	s := h.Settings
	d := s.Description
	want.Description.LineRateGbps, want.Description.MessageRateMpps, want.Description.PacketRates = d.LineRateGbps, d.MessageRateMpps, d.PacketRates
	has, err := json.Marshal(s)
	if err != nil {
		return d, err
	}
	wants, err := json.Marshal(want)
	if err != nil {
		return d, err
	}
	if bytes.Equal(has, wants) {
		return d, nil
	}
	for _, differs := range []struct {
		is   bool
		what string
	}{
		{s.Algorithm != want.Algorithm, fmt.Sprintf("algorithm %s", s.Algorithm)},
		{s.Pairs != want.Pairs, fmt.Sprintf("%d pairs", s.Pairs)},
		{s.Seed != want.Seed, fmt.Sprintf("seed %d", s.Seed)},
		{s.Description.Name != want.Description.Name, fmt.Sprintf("engine %s", s.Description.Name)},
	} {
		if differs.is {
			return d, fmt.Errorf("it belongs to a search with %s: use the same settings to resume it, or another log", differs.what)
		}
	}
	if s.Budget != want.Budget {
		return d, fmt.Errorf("it belongs to a search with a budget of %d, which determines the order of measurements: use --budget %d to finish it or to print its findings with --json; to search further, pass these as --known, with another --log and --seed", s.Budget, s.Budget)
	}
	return d, errors.New("it belongs to a search with another restriction, other known MFS or another engine description: use the same to resume it, or another log")
}

var errNoLog = errors.New("it is not a search log; name the --log of giverny search run, or a new file to start one")

func parseHeader(line []byte) (Header, error) {
	var h Header
	if err := json.Unmarshal(line, &h); err != nil || h.Type != lineSearch {
		return h, errNoLog
	}
	if h.Version != logVersion {
		return h, fmt.Errorf("it has version %d: this giverny reads version %d", h.Version, logVersion)
	}
	return h, nil
}

// Log is the content of a log.
type Log struct {
	Header       Header
	Measurements []Measured
	Findings     [][]byte // lines of the report
}

// ReadLog reads a log, possibly of a running search.
func ReadLog(path string) (Log, error) {
	var l Log
	if err := plainfile.Check(path); err != nil {
		return l, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return l, err
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	n := 0
	for line := range bytes.Lines(text) {
		n++
		if n == 1 {
			if l.Header, err = parseHeader(line); err != nil {
				return l, fmt.Errorf("log %s: %w", path, err)
			}
			continue
		}
		var m Measured
		if err := json.Unmarshal(line, &m); err != nil {
			return l, fmt.Errorf("log %s: line %d: %w", path, n, err)
		}
		if m.Type == lineMeasurement {
			l.Measurements = append(l.Measurements, m)
		} else {
			l.Findings = append(l.Findings, line)
		}
	}
	if n == 0 {
		return l, fmt.Errorf("log %s: %w", path, errNoLog)
	}
	return l, nil
}
