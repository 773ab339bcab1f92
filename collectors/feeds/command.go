package feeds

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// MaxOutput bounds what a command may print and a server may answer.
const MaxOutput = 256 << 20

// ErrTooLarge: more than MaxOutput.
var ErrTooLarge = fmt.Errorf("more than %d bytes", int64(MaxOutput))

// Run runs an argument vector, without a shell, and gives its standard output to read as it comes. A command that
// ends with a status other than 0 is an error that holds the end of what it printed on standard error. When ctx ends
// it is killed.
func Run(ctx context.Context, argv, environ []string, read func(io.Reader) error) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), environ...)
	cmd.WaitDelay = time.Second // children that hold the pipe open do not hang us
	var said tail
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("run %s: %w", argv[0], err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("run %s: %w", argv[0], err)
	}
	readErr := read(Bounded(out, MaxOutput))
	killed := readErr != nil && ctx.Err() == nil && !errors.Is(readErr, io.EOF) && !errors.Is(readErr, io.ErrUnexpectedEOF)
	if killed {
		_ = cmd.Process.Kill() // its output is read no further
	}
	waitErr := cmd.Wait()
	switch {
	case !killed && ctx.Err() != nil:
		return fmt.Errorf("run %s: %w", argv[0], ctx.Err())
	case killed || readErr != nil && waitErr == nil:
		return fmt.Errorf("read what %s prints: %w", argv[0], readErr)
	case waitErr != nil && said.Len() > 0:
		return fmt.Errorf("run %s: %w: %s", argv[0], waitErr, strings.TrimSpace(said.String()))
	case waitErr != nil:
		return fmt.Errorf("run %s: %w", argv[0], waitErr) // what it printed is cut short, whatever that made of it
	}
	return nil
}

// tail keeps the end of what is written to it.
type tail struct{ bytes.Buffer }

const tailBytes = 1 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.Buffer.Write(p)
	if over := t.Len() - tailBytes; over > 0 {
		t.Next(over)
	}
	return len(p), nil
}

// Bounded is a reader that fails with ErrTooLarge behind n bytes, rather than end as if that were all.
func Bounded(r io.Reader, n int64) io.Reader { return &bounded{r, n} }

type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, ErrTooLarge
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.r.Read(p)
	b.left -= int64(n)
	return n, err
}
