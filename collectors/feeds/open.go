package feeds

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// Open opens a file written by another program. It refuses directories, and named pipes: opening one without a writer blocks, ignoring
// the stop signal, and data read from it cannot be read again. Pipes made by a shell, /dev/fd/63, are already open.
func Open(path string) (*os.File, error) {
	made := path == "/dev/stdin" || strings.HasPrefix(path, "/dev/fd/") || strings.HasPrefix(path, "/proc/")
	switch info, err := os.Stat(path); {
	case err != nil: // Open reports it
	case info.IsDir():
		return nil, &os.PathError{Op: "open", Path: path, Err: syscall.EISDIR}
	case info.Mode()&os.ModeNamedPipe != 0 && !made:
		return nil, fmt.Errorf("open %s: it is a named pipe: use a regular file that the program writes to", path)
	}
	return os.Open(path)
}
