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

// Read reads a whole file that passes Check and has at most MaxBytes.
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
	return text, err // which names the file
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
