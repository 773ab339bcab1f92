package feeds

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/giverny/giverny/internal/bounded"
	"github.com/giverny/giverny/internal/procgroup"
)

// MaxOutput bounds the output of a command and the response of a server, in bytes.
const MaxOutput = 256 << 20

// Run runs an argument vector, without a shell, and streams its standard output to read. A non-zero exit status is
// an error that includes the end of standard error. The command is killed, with what it has started, when ctx ends.
func Run(ctx context.Context, argv, environ []string, read func(io.Reader) error) error {
	cmd := procgroup.Command(ctx, argv, time.Second)
	cmd.Env = append(os.Environ(), environ...)
	var said tail
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("run %s: %w", argv[0], err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("run %s: %w", argv[0], err)
	}
	output := bounded.Reader(out, MaxOutput)
	readErr := read(output)
	if readErr == nil { // a program blocks while its output is not read
		_, readErr = io.Copy(io.Discard, output)
	}
	killed := readErr != nil && ctx.Err() == nil && !errors.Is(readErr, io.EOF) && !errors.Is(readErr, io.ErrUnexpectedEOF)
	if killed {
		_ = procgroup.Kill(cmd) // its remaining output is not read
	}
	waitErr := cmd.Wait()
	switch {
	case !killed && ctx.Err() != nil:
		return fmt.Errorf("run %s: %w", argv[0], ctx.Err())
	case killed || readErr != nil && waitErr == nil:
		return fmt.Errorf("read the output of %s: %w", argv[0], readErr)
	case waitErr != nil && said.text.Len() > 0:
		return fmt.Errorf("run %s: %w: %s", argv[0], waitErr, strings.TrimSpace(said.text.String()))
	case waitErr != nil:
		return fmt.Errorf("run %s: %w", argv[0], waitErr) // the output is incomplete, so a parse error does not matter
	}
	return nil
}

// tail keeps the last bytes written to it. The buffer is not embedded, because its ReadFrom would bypass Write.
type tail struct{ text bytes.Buffer }

// tailBytes of a program's error output go into the log; the cause is usually in the last lines.
const tailBytes = 1 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.text.Write(p)
	if over := t.text.Len() - tailBytes; over > 0 {
		t.text.Next(over)
	}
	return len(p), nil
}
