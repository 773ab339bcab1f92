package bluewaters

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/giverny/giverny/schema"
)

// Input is one day file. Its text may be packed with gzip.
type Input struct {
	Name string // in errors
	Open func() (io.ReadCloser, error)
}

// File is the day file at a path.
func File(path string) Input {
	return Input{Name: path, Open: func() (io.ReadCloser, error) { return os.Open(path) }}
}

// Reader makes batches of day files. It is not safe for concurrent use.
type Reader struct {
	cfg     Config
	inputs  []Input // those not begun yet
	file    *file   // the one being read, or nil
	sorter  *sorter
	current *slot // behind the last batch
	batch   schema.CounterBatch
	summary Summary
	failed  error
}

// NewReader makes a reader of files in the order of time.
func NewReader(cfg Config, inputs ...Input) (*Reader, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("bluewaters: %w", err)
	}
	if len(inputs) == 0 {
		return nil, errors.New("bluewaters: no files to read")
	}
	r := &Reader{cfg: cfg, inputs: inputs}
	r.sorter = newSorter(&r.cfg)
	r.sorter.hold = cfg.WholeFile
	r.batch = schema.CounterBatch{Fabric: cfg.Fabric, Source: "bluewaters", Agent: "bluewaters", IntervalNanos: IntervalNanos,
		Ports: r.cfg.portNames(), Columns: []schema.CounterColumn{{Name: creditStall}, {Name: inqStall}, {Name: usedBandwidth}}}
	return r, nil
}

// Summary is what became of the rows so far.
func (r *Reader) Summary() Summary { return r.summary }

// Next is the next minute: a row for each direction of each switch that
// reported. The batch is the reader's and holds until the call after; its
// dictionary of ports is the same in all of them. At the end of the data it
// returns io.EOF; a *WrongTopologyError, an *UnorderedError, a
// *NotDayFilesError or a fault of a file, which names it, ends the reading too. Rows that cannot be understood do
// not: they are in the Summary.
func (r *Reader) Next() (*schema.CounterBatch, error) {
	if r.failed != nil {
		return nil, r.failed
	}
	if r.current != nil {
		r.sorter.recycle(r.current)
		r.current = nil
	}
	for {
		atEnd := r.file == nil && len(r.inputs) == 0
		m := r.sorter.next(atEnd)
		r.summary.Dropped[Stray] = r.sorter.strays
		if m != nil {
			r.current = m
			m.fill(&r.batch)
			r.batch.Sequence++
			r.summary.Batches++
			return &r.batch, nil
		}
		if atEnd {
			if r.failed = r.summary.judge(&r.cfg, true); r.failed == nil {
				r.failed = io.EOF
			}
			return nil, r.failed
		}
		if err := r.advance(); err != nil {
			r.failed = err
			return nil, err
		}
	}
}

// Close closes the file being read.
func (r *Reader) Close() error {
	if r.file == nil {
		return nil
	}
	err := r.file.close()
	r.file, r.inputs = nil, nil
	return err
}

// advance reads one more block of rows.
func (r *Reader) advance() error {
	if r.file == nil {
		return r.begin()
	}
	block, err := r.file.next()
	if errors.Is(err, io.EOF) {
		err = r.file.close()
		r.file = nil
		r.sorter.hold = r.cfg.WholeFile
		return err
	}
	if err != nil {
		return err
	}
	if err := r.readBlock(block); err != nil {
		return err
	}
	return r.summary.judge(&r.cfg, false)
}

// begin opens the next file.
func (r *Reader) begin() error {
	input := r.inputs[0]
	r.inputs = r.inputs[1:]
	f, err := openFile(input)
	if err != nil {
		return err
	}
	r.file = f
	r.summary.Files++
	if !f.inOrderOfTime(int64(r.cfg.WindowMinutes) * secondsPerMinute) {
		r.sorter.hold = true
		r.summary.WholeFiles = append(r.summary.WholeFiles, input.Name)
	}
	return nil
}

// readBlock reads whole lines.
func (r *Reader) readBlock(block []byte) error {
	r.summary.Bytes += int64(len(block))
	var f fields
	for len(block) > 0 {
		r.file.line++
		n, isRow := 0, true
		if r.file.plain {
			n = parsePlain(block, &f)
		}
		if n == 0 {
			var err error
			if n, isRow, err = r.readLine(block, &f); err != nil {
				return err
			}
		}
		block = block[n:]
		if !isRow {
			continue
		}
		r.summary.Rows++
		if why, ok := r.sorter.add(&f); !ok {
			r.drop(why, &f)
		}
	}
	return nil
}

// readLine reads the line at the beginning of block, which is not plain, and
// returns its length with the line end.
func (r *Reader) readLine(block []byte, f *fields) (n int, isRow bool, err error) {
	if n = bytes.IndexByte(block, '\n') + 1; n == 0 {
		n = len(block)
	}
	line := bytes.TrimRight(block[:n], "\r\n")
	if len(bytes.TrimSpace(line)) == 0 {
		return n, false, nil
	}
	if isHeader(line) {
		layout, err := parseHeader(string(line))
		if err != nil {
			return n, false, fmt.Errorf("%s:%d: header: %w", r.file.name, r.file.line, err)
		}
		r.file.setLayout(layout)
		return n, false, nil
	}
	column, why := parseLine(line, r.file.layout, f)
	if column > 0 {
		r.summary.Rows++
		r.dropLine(column, why, line)
	}
	return n, column == 0, nil
}

func (r *Reader) drop(why Reason, f *fields) {
	r.summary.Dropped[why]++
	switch why {
	case Late:
		r.summary.MaxLateMinutes = max(r.summary.MaxLateMinutes, r.sorter.newest-minuteOf(f.unixSeconds, f.nanos))
	case Outside:
		if len(r.summary.FirstOutside) < keptOutside {
			r.summary.FirstOutside = append(r.summary.FirstOutside, coordName(int(f.coord[2]), int(f.coord[1]), int(f.coord[0])))
		}
	}
}

// maxErrorText is how much of a bad line an error shows.
const maxErrorText = 60

func (r *Reader) dropLine(column int, why Reason, line []byte) {
	r.summary.Dropped[why]++
	if len(r.summary.FirstErrors) >= r.cfg.MaxLineErrors {
		return
	}
	text := line
	if why != WrongColumns {
		text = bytes.Split(line, []byte{','})[column-1]
	}
	if len(text) > maxErrorText {
		text = append(text[:maxErrorText:maxErrorText], "..."...)
	}
	r.summary.FirstErrors = append(r.summary.FirstErrors, LineError{r.file.name, r.file.line, column, why, string(text)})
}
