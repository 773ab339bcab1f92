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

	"github.com/giverny/giverny/internal/decompress"
)

const (
	blockBytes     = 1 << 20  // per read: lines have some 100 bytes
	minBufferBytes = 64 << 10 // at first; it doubles up to a block, so that a short file takes little
	// probeBytes is how much of the start of a sequential file is checked for time
	// order.
	probeBytes = 8 << 20
	// probes is the number of places that are checked in other files.
	probes = 256
	// probeReadBytes is enough for the rest of a line and the time in the next one.
	probeReadBytes = 4 << 10
)

// file returns the text of an input in blocks of whole lines.
type file struct {
	name   string
	raw    io.ReadCloser
	text   io.Reader // raw, decompressed
	packed bool      // text is not raw's own
	buffer []byte
	used   int   // bytes of buffer that hold text
	taken  int   // of these, the size of the block returned last
	fault  error // why there is no more text; io.EOF at the end

	line   int   // number of the line being read, from 1
	layout []int // see parseHeader
	plain  bool  // layout is the canonical one
}

// openFile opens an input and detects compression by its first bytes.
func openFile(in Input) (*file, error) {
	raw, err := in.Open()
	if err != nil {
		return nil, err
	}
	f := &file{name: in.Name, raw: raw}
	f.setLayout(canonicalLayout)
	buffered := bufio.NewReader(raw)
	head, _ := buffered.Peek(4) // the first read returns the error again
	f.packed = decompress.IsPacked(head)
	if f.text, err = decompress.Reader("", buffered); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", in.Name, err), raw.Close())
	}
	return f, nil
}

func (f *file) close() error { return f.raw.Close() }

func (f *file) setLayout(layout []int) {
	f.layout = layout
	f.plain = slices.Equal(layout, canonicalLayout)
}

// next returns the next block of whole lines, valid until the next call. After the last
// one it returns io.EOF or the error that ended the file.
func (f *file) next() ([]byte, error) {
	f.used = copy(f.buffer, f.buffer[f.taken:f.used])
	f.taken = 0
	f.fill(blockBytes)
	if f.used == 0 {
		return nil, f.fault
	}
	end := bytes.LastIndexByte(f.buffer[:f.used], '\n') + 1
	if f.fault != nil {
		end = f.used // the last line may have no line end
	} else if end == 0 {
		f.fault = fmt.Errorf("%s:%d: a line of more than %d bytes: not a day file", f.name, f.line+1, f.used)
		return nil, f.fault
	}
	f.taken = end
	return f.buffer[:end], nil
}

// fill reads until the buffer holds n bytes or the text ends. The buffer grows with the
// text, since some files are small.
func (f *file) fill(n int) {
	for f.used < n && f.fault == nil {
		if f.used == len(f.buffer) {
			f.buffer = append(f.buffer, make([]byte, min(max(f.used, minBufferBytes), n-f.used))...)
		}
		got, err := f.text.Read(f.buffer[f.used:min(n, len(f.buffer))])
		f.used += got
		if f.fault = err; err != nil && !errors.Is(err, io.EOF) {
			f.fault = fmt.Errorf("%s: after line %d: %w", f.name, f.line, err)
		}
	}
}

// inOrderOfTime checks the times of rows at places all over the file, or at its
// beginning if it can only be read sequentially: in a file written in blocks of nodes
// the time restarts with each block.
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

// ordered reports whether nearly all times are at most the window behind the latest
// time before them.
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

// randomAccess returns the file as plain text at any offset, or nil.
func (f *file) randomAccess() (at io.ReaderAt, size int64) {
	if f.packed {
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
		n, _ := at.ReadAt(buffer[:], size/probes*i) // unreadable places give no time
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
