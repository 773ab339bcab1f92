// Package plainfile opens and reads the files that a configuration names: secrets, certificates, topologies, logs. It refuses
// those on which a reader would wait without end, such as a named pipe without a writer, and those that have no end.
package plainfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/giverny/giverny/internal/bounded"
	"github.com/giverny/giverny/internal/textmark"
)

// MaxBytes is how large a file may be that Read reads whole: far more than any key, list of tokens or host graph.
const MaxBytes = 64 << 20

// Check refuses folders, devices, sockets and named pipes: opening a pipe without a writer blocks, ignoring the stop signal,
// and data read from it cannot be read again. Pipes made by a shell, /dev/fd/63, are already open. What does not exist is for
// Open to report.
func Check(path string) error {
	made := path == "/dev/stdin" || path == os.DevNull || strings.HasPrefix(path, "/dev/fd/") || strings.HasPrefix(path, "/proc/")
	info, err := os.Stat(path)
	if err != nil || made && !info.IsDir() {
		return nil
	}
	refused := func(what string) error {
		return fmt.Errorf("open %s: it is a %s: use a regular file", path, what)
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		return &os.PathError{Op: "open", Path: path, Err: syscall.EISDIR}
	case mode&fs.ModeNamedPipe != 0:
		return fmt.Errorf("%w that the program writes to", refused("named pipe"))
	case mode&fs.ModeSocket != 0:
		return refused("socket")
	case mode&fs.ModeDevice != 0:
		return refused("device")
	}
	return nil
}

// Open opens a file that passes Check.
func Open(path string) (*os.File, error) {
	if err := Check(path); err != nil {
		return nil, err
	}
	return os.Open(path)
}

// Read reads a whole file that passes Check and has at most MaxBytes, without a byte order mark.
func Read(path string) ([]byte, error) { return read(Open, path, MaxBytes) }

// ReadOnce reads a whole file of at most MaxBytes that need not pass Check, such as a pipe that a command is given.
func ReadOnce(path string) ([]byte, error) { return read(os.Open, path, MaxBytes) }

func read(open func(path string) (*os.File, error), path string, most int64) ([]byte, error) {
	file, err := open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(bounded.Reader(file, most))
	if errors.As(err, new(*bounded.TooLargeError)) {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return textmark.Trim(text), err // which names the file
}

// Input is a file that a command is given, to be read once.
type Input struct{ file *os.File }

// OpenInput opens a file that need not pass Check, such as a pipe, unless it is a folder. Errors of opening name the file;
// those of reading do not, since who parses it names it, and the line.
func OpenInput(path string) (*Input, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err == nil && info.IsDir() {
		_ = file.Close() // nothing was written
		return nil, &os.PathError{Op: "open", Path: path, Err: syscall.EISDIR}
	}
	return &Input{file}, nil
}

// Read reads from the file.
func (in *Input) Read(p []byte) (int, error) {
	n, err := in.file.Read(p)
	if named, ok := errors.AsType[*os.PathError](err); ok {
		err = fmt.Errorf("%s: %w", named.Op, named.Err)
	}
	return n, err
}

// Stat describes the file.
func (in *Input) Stat() (os.FileInfo, error) { return in.file.Stat() }

// Close closes the file.
func (in *Input) Close() error { return in.file.Close() }

// Naming returns an error about a file that names it once: the error itself if it does, as those of package os do, otherwise
// with the path before it.
func Naming(path string, err error) error {
	if err == nil || strings.Contains(err.Error(), path) {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// EndOfLines is the offset after the last complete line of a file of a size, to which another program may be writing.
func EndOfLines(in io.ReaderAt, end int64) (int64, error) {
	buf := make([]byte, 4<<10)
	for end > 0 {
		from := max(0, end-int64(len(buf)))
		n, err := in.ReadAt(buf[:end-from], from)
		if err != nil && err != io.EOF {
			return 0, err
		}
		if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
			return from + int64(i) + 1, nil
		}
		end = from
	}
	return 0, nil
}
