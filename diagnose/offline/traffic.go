package offline

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/giverny/giverny/internal/csvfault"
	"github.com/giverny/giverny/schema"
)

// trafficColumns are the columns of a traffic file.
var trafficColumns = [...]string{"time", "job_id", "read_bytes", "write_bytes", "rdma_read_bytes", "rdma_write_bytes"}

// firstFeature is the first of trafficColumns that is a measurement; those before it are the key.
const firstFeature = 2

// trafficTable holds the rows of a traffic file, by time.
type trafficTable struct {
	rows  []schema.JobTraffic
	given int
}

// trafficReader reads a traffic file.
type trafficReader struct {
	r       *reading
	file    *File
	csv     *csvfault.Reader
	names   []string                 // the header
	columns [len(trafficColumns)]int // -1 if absent
	seen    map[jobKey]bool
	ids     map[string]string // interned
}

// readTraffic reads the bytes that jobs moved. Rows may come in any order.
func (r *reading) readTraffic(f *File) error {
	plain, err := f.plain()
	if err != nil {
		return err
	}
	defer plain.Close()
	t := &trafficReader{r: r, file: f, csv: csvfault.NewReader(plain), seen: map[jobKey]bool{},
		ids: map[string]string{}}
	t.csv.ReuseRecord, t.csv.TrimLeadingSpace = true, true
	if err := t.header(); err != nil {
		return fmt.Errorf("%s:1: %w", f.Name, err)
	}
	for {
		record, err := t.csv.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return t.located(err, record)
		}
		if slices.Equal(record, t.names) { // of a file that was appended
			continue
		}
		if err := t.row(record); err != nil {
			line, _ := t.csv.FieldPos(0)
			return fmt.Errorf("%s:%d: %w", f.Name, line, err)
		}
	}
	if len(r.traffic.rows) == 0 {
		r.note("traffic rows", "%s: no rows: traffic taken as not measured", f.Name)
	}
	slices.SortStableFunc(r.traffic.rows, func(a, b schema.JobTraffic) int { return cmp.Compare(a.Time, b.Time) })
	return nil
}

// located adds file and line to a CSV syntax error.
func (t *trafficReader) located(err error, record []string) error {
	line, fault := csvfault.Explain(err, t.csv, record)
	if line == 0 {
		return fmt.Errorf("%s: %w", t.file.Name, fault)
	}
	return fmt.Errorf("%s:%d: %w", t.file.Name, line, fault)
}

func (t *trafficReader) header() error {
	header, err := t.csv.Read()
	want := strings.Join(trafficColumns[:], ",")
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("it is empty; want the header %s", want)
	}
	if err != nil {
		_, fault := csvfault.Explain(err, t.csv, header)
		return fault
	}
	if err := fieldsOfText(header); err != nil {
		return err
	}
	t.names = slices.Clone(header)
	t.names[0] = strings.TrimPrefix(t.names[0], "\ufeff")
	for i := range t.columns {
		t.columns[i] = -1
	}
	for c, name := range t.names {
		name = strings.ToLower(strings.TrimSpace(name))
		switch i := slices.Index(trafficColumns[:], name); {
		case i < 0:
			t.r.note("traffic columns", "%s:1: column %.60q is not used; used are %s", t.file.Name, name, want)
		case t.columns[i] >= 0:
			return fmt.Errorf("column %s is duplicated", name)
		default:
			t.columns[i] = c
		}
	}
	for i, c := range t.columns {
		switch {
		case c >= 0:
		case i < firstFeature:
			return fmt.Errorf("no column %s; want the header %s", trafficColumns[i], want)
		default:
			t.r.note("traffic columns", "%s:1: no column %s: taken as not measured", t.file.Name, trafficColumns[i])
		}
	}
	if slices.Max(t.columns[firstFeature:]) < 0 {
		return fmt.Errorf("no column of bytes; want the header %s", want)
	}
	return nil
}

// fieldsOfText returns an error if a field is not UTF-8.
func fieldsOfText(record []string) error {
	for c, field := range record {
		if at := invalid(field); at >= 0 {
			return fmt.Errorf("field %d, byte %d is not UTF-8; convert the file, with iconv say", c+1, at+1)
		}
	}
	return nil
}

func (t *trafficReader) row(record []string) error {
	if err := fieldsOfText(record); err != nil {
		return err
	}
	row := schema.JobTraffic{Fabric: t.r.graph.Fabric(), JobID: t.id(strings.TrimSpace(record[t.columns[1]]))}
	var err error
	if row.Time, err = schema.ParseInstant(strings.TrimSpace(record[t.columns[0]]), nil); err != nil {
		return fmt.Errorf("column time: %w", err)
	}
	if row.Time == 0 {
		return errors.New("column time: it is empty")
	}
	if row.JobID == "" {
		return errors.New("column job_id: it is empty")
	}
	if key := (jobKey{row.JobID, row.Time}); t.seen[key] {
		return fmt.Errorf("job %q has a row of %s already; delete one of the two", row.JobID, row.Time)
	} else {
		t.seen[key] = true
	}
	for i, into := range []**float64{&row.Read, &row.Write, &row.RDMARead, &row.RDMAWrite} {
		c := t.columns[firstFeature+i]
		if c < 0 {
			continue
		}
		if *into, err = measured(record[c]); err != nil {
			return fmt.Errorf("column %s: %w", trafficColumns[firstFeature+i], err)
		}
	}
	t.r.traffic.rows = append(t.r.traffic.rows, row)
	return nil
}

// id interns a job id, which a file repeats thousands of times.
func (t *trafficReader) id(text string) string {
	if id, known := t.ids[text]; known {
		return id
	}
	id := strings.Clone(text)
	t.ids[id] = id
	if !t.r.jobs.ids[id] {
		t.r.note("unknown jobs", "%s: job %q has traffic, and is not in the jobs", t.file.Name, id)
	}
	return id
}

// measured parses a number of bytes; nil if the field is empty.
func measured(field string) (*float64, error) {
	field = strings.TrimSpace(field)
	if field == "" {
		return nil, nil
	}
	v, err := strconv.ParseFloat(field, 64)
	if err != nil || !schema.IsBytes(v) {
		return nil, fmt.Errorf("%q is no number of bytes (0 or more, less than 2^64); leave the field empty where it "+
			"was not measured", field)
	}
	return &v, nil
}

// until returns the rows of intervals that begin before end and were not returned before.
func (t *trafficTable) until(end schema.Instant) []schema.JobTraffic {
	first := t.given
	for t.given < len(t.rows) && t.rows[t.given].Time < end {
		t.given++
	}
	return t.rows[first:t.given]
}
