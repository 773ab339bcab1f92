package bluewaters

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/giverny/giverny/schema"
)

// Input is one day file, which may be compressed with gzip or Zstandard.
type Input struct {
	Name string // for errors
	Open func() (io.ReadCloser, error)
}

// File returns the day file at a path.
func File(path string) Input {
	return Input{Name: path, Open: func() (io.ReadCloser, error) { return os.Open(path) }}
}

// Reader converts day files to batches. It is not safe for concurrent use.
type Reader struct {
	cfg     Config
	inputs  []Input // not opened yet
	file    *file   // being read, or nil
	block   []byte  // rows of it that are still to be added
	sorter  *sorter
	current *slot // the minute of the last batch
	batch   schema.CounterBatch
	summary Summary
	failed  error
}

// NewReader returns a reader of files, which must be in time order.
func NewReader(cfg Config, inputs ...Input) (*Reader, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("bluewaters: %w", err)
	}
	if len(inputs) == 0 {
		return nil, errors.New("bluewaters: no files to read; name day files")
	}
	r := &Reader{cfg: cfg, inputs: inputs}
	r.sorter = newSorter(&r.cfg)
	r.batch = schema.CounterBatch{Fabric: cfg.Fabric, Source: "bluewaters", Agent: "bluewaters", IntervalNanos: intervalNanos,
		Ports: r.cfg.portNames(), Columns: []schema.CounterColumn{{Name: creditStall}, {Name: inqStall}, {Name: usedBandwidth}}}
	return r, nil
}

// Summary counts the rows read so far.
func (r *Reader) Summary() Summary { return r.summary }

// Next returns the next minute: a row for each direction of each switch that reported. The batch is valid until
// the next call; all batches share one port dictionary. At the end of the data it returns io.EOF. Reading also
// ends with a *WrongTopologyError, an *UnorderedError, a *TooLongError, a *NotDayFilesError or an I/O error, which names the file.
// Unparsable rows do not end it; they are counted in the Summary.
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

// advance reads another block of rows, or the rest of one.
func (r *Reader) advance() error {
	if r.file == nil {
		return r.begin()
	}
	if len(r.block) == 0 {
		block, err := r.file.next()
		if errors.Is(err, io.EOF) {
			err = r.file.close()
			r.file, r.sorter.hold = nil, false
			return err
		}
		if err != nil {
			return err
		}
		r.block = block
		r.summary.Bytes += int64(len(block))
	}
	if err := r.readBlock(); err != nil {
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
	r.sorter.hold = r.cfg.WholeFile
	if !f.inOrderOfTime(int64(r.cfg.WindowMinutes) * secondsPerMinute) {
		r.sorter.hold = true
		r.summary.WholeFiles = append(r.summary.WholeFiles, input.Name)
	}
	return nil
}

// readBlock parses a block of whole lines, as far as the sorter has room.
func (r *Reader) readBlock() error {
	block := r.block
	defer func() { r.block = block }()
	var f fields
	for len(block) > 0 && !r.sorter.full() {
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
		line := block[:n]
		block = block[n:]
		if !isRow {
			continue
		}
		r.summary.Rows++
		if why, ok := r.sorter.add(&f); !ok {
			r.drop(why, &f, line)
		}
	}
	return nil
}

// readLine parses the first line of block, which is not plain, and returns its length
// with the line end.
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
		switch {
		case err == nil:
			r.file.setLayout(layout)
		case r.file.line == 1:
			return n, false, fmt.Errorf("%s:1: header: %w", r.file.name, err)
		default: // a damaged row
			r.summary.Rows++
			r.dropLine(1, NotANumber, line)
		}
		return n, false, nil
	}
	column, why := parseLine(line, r.file.layout, f)
	if column > 0 {
		r.summary.Rows++
		r.dropLine(column, why, line)
	}
	return n, column == 0, nil
}

func (r *Reader) drop(why Reason, f *fields, line []byte) {
	if why == Unheld {
		r.dropLine(1+slices.Index(r.file.layout, columnTime), why, bytes.TrimRight(line, "\r\n"))
		return
	}
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

// maxErrorText bounds the excerpt of a bad line in an error, in bytes.
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
