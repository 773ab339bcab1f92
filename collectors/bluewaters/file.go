package bluewaters

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"

	"github.com/klauspost/compress/gzip"
)

const (
	blockBytes     = 1 << 20
	minBufferBytes = 64 << 10
	// probeBytes at the beginning of a file that can only be read in sequence
	// say whether its rows are in the order of time.
	probeBytes = 8 << 20
	// probes are the places at which other files are looked at for that.
	probes = 256
	// probeReadBytes hold a line's end and the time behind it.
	probeReadBytes = 4 << 10
)

// file gives the text of one input in blocks of whole lines.
type file struct {
	name   string
	raw    io.ReadCloser
	text   io.Reader // raw, unpacked
	buffer []byte
	used   int   // bytes of buffer that hold text
	taken  int   // of these, the last block
	fault  error // why there is no more text; io.EOF at the end

	line   int   // number of the line being read, from 1
	layout []int // see parseHeader
	plain  bool  // layout is the canonical one
}

// openFile opens an input and tells by its first bytes whether it is packed.
func openFile(in Input) (*file, error) {
	raw, err := in.Open()
	if err != nil {
		return nil, err
	}
	f := &file{name: in.Name, raw: raw}
	f.setLayout(canonicalLayout)
	buffered := bufio.NewReader(raw)
	if magic, _ := buffered.Peek(2); string(magic) != "\x1f\x8b" {
		f.text = buffered
		return f, nil
	}
	if f.text, err = gzip.NewReader(buffered); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", in.Name, err), raw.Close())
	}
	return f, nil
}

func (f *file) close() error { return f.raw.Close() }

func (f *file) setLayout(layout []int) {
	f.layout = layout
	f.plain = slices.Equal(layout, canonicalLayout)
}

// next is the next block of whole lines, valid until the call after. Behind the
// last one it returns io.EOF or the fault that ended the file.
func (f *file) next() ([]byte, error) {
	f.used = copy(f.buffer, f.buffer[f.taken:f.used])
	f.taken = 0
	f.fill(blockBytes)
	if f.used == 0 {
		return nil, f.fault
	}
	end := bytes.LastIndexByte(f.buffer[:f.used], '\n') + 1
	if f.fault != nil {
		end = f.used // the last line may lack its end
	} else if end == 0 {
		f.fault = fmt.Errorf("%s:%d: a line of more than %d bytes: not a day file", f.name, f.line+1, f.used)
		return nil, f.fault
	}
	f.taken = end
	return f.buffer[:end], nil
}

// fill reads until the buffer holds n bytes or the text ends. The buffer grows
// with the text: most files are large, but not all.
func (f *file) fill(n int) {
	for f.used < n && f.fault == nil {
		if f.used == len(f.buffer) {
			f.buffer = append(f.buffer, make([]byte, min(max(f.used, minBufferBytes), n-f.used))...)
		}
		got, err := f.text.Read(f.buffer[f.used:min(n, len(f.buffer))])
		f.used += got
		if f.fault = err; err != nil && !errors.Is(err, io.EOF) {
			f.fault = fmt.Errorf("%s: behind line %d: %w", f.name, f.line, err)
		}
	}
}

// inOrderOfTime looks at the times of rows all over the file, or at its
// beginning if it can only be read in sequence: in a file that was written in
// blocks of nodes the time starts again and again.
func (f *file) inOrderOfTime(windowSeconds int64) bool {
	if at, size := f.randomAccess(); at != nil && size > probeBytes {
		return ordered(probeTimes(at, size), windowSeconds)
	}
	f.fill(probeBytes)
	var times []int64
	for line := range bytes.Lines(f.buffer[:f.used]) {
		times = appendTime(times, line)
	}
	return ordered(times, windowSeconds)
}

// ordered reports whether nearly all times lie no further than the window
// behind the latest before them.
func ordered(times []int64, windowSeconds int64) bool {
	late := 0
	latest := int64(never)
	for _, t := range times {
		if t < latest-windowSeconds {
			late++
		}
		latest = max(latest, t)
	}
	return late*100 <= len(times)
}

// randomAccess is the file as plain text at any offset, or nil.
func (f *file) randomAccess() (at io.ReaderAt, size int64) {
	if _, packed := f.text.(*gzip.Reader); packed {
		return nil, 0
	}
	at, _ = f.raw.(io.ReaderAt)
	if s, ok := f.raw.(interface{ Stat() (fs.FileInfo, error) }); ok && at != nil {
		if info, err := s.Stat(); err == nil && info.Mode().IsRegular() {
			return at, info.Size()
		}
	}
	return nil, 0
}

func probeTimes(at io.ReaderAt, size int64) (times []int64) {
	var buffer [probeReadBytes]byte
	for i := range int64(probes) {
		n, _ := at.ReadAt(buffer[:], size/probes*i) // what cannot be read gives no time
		_, behind, _ := bytes.Cut(buffer[:n], []byte{'\n'})
		times = appendTime(times, behind)
	}
	return times
}

// appendTime appends the first column of a line if it is a number.
func appendTime(times []int64, line []byte) []int64 {
	column, _, _ := bytes.Cut(line, []byte{','})
	whole, _, _ := bytes.Cut(column, []byte{'.'})
	if t, err := strconv.ParseInt(string(whole), 10, 64); err == nil {
		return append(times, t)
	}
	return times
}
