package feeds

import (
	"fmt"
	"os"
	"strings"
)

// Open opens a file that others write. A named pipe is refused: to open one without a writer blocks, also past the
// signal to stop, and what was read of it cannot be read again. Those that a shell makes, /dev/fd/63, are open already.
func Open(path string) (*os.File, error) {
	made := path == "/dev/stdin" || strings.HasPrefix(path, "/dev/fd/") || strings.HasPrefix(path, "/proc/")
	if info, err := os.Stat(path); err == nil && info.Mode()&os.ModeNamedPipe != 0 && !made {
		return nil, fmt.Errorf("open %s: it is a named pipe: give a regular file, to which the program writes", path)
	}
	return os.Open(path)
}
