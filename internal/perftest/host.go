// Package perftest runs the tools of linux-rdma's perftest (ib_write_bw, ib_write_lat,
// ...) and reads their tables. In go argument vectors for this host or one that ssh
// reaches, out comes what the two sides of a test print, and rows of the tables.
// Which test to run, its users know.
package perftest

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/giverny/giverny/internal/bounded"
)

// Host runs commands on a host: argument vectors, which arrive as they are given.
type Host struct {
	SSH         []string // the program and its options
	Destination string   // of ssh; empty: this host
}

// sshFailed is the exit status of ssh when it did not reach the host.
const sshFailed = 255

// ErrUnreachable is a host that ssh does not reach.
var ErrUnreachable = errors.New("ssh does not reach the host")

// command is the vector to execute here.
func (h Host) command(argv []string) []string {
	if h.Destination == "" {
		return argv
	}
	// ssh hands one text to the shell of the account: quoted, it gives the same
	// vector back.
	quoted := make([]string, len(argv))
	for i, a := range argv {
		quoted[i] = quote(a)
	}
	line := append([]string{}, h.SSH...)
	return append(line, "--", h.Destination, strings.Join(quoted, " "))
}

// quote writes an argument for a POSIX shell.
func quote(s string) string {
	const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:=,@%+"
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// killDelay is how long after its context's end a command may go on.
const killDelay = 2 * time.Second

// Run executes a command and gives what it wrote on standard output. If the command
// fails the error is a *CommandError.
func (h Host) Run(ctx context.Context, argv ...string) ([]byte, error) {
	line := h.command(argv)
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.WaitDelay = killDelay
	if h.Destination == "" { // a server that waits for its client does not outlive this process
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	}
	stdout, stderr := &bounded.Buffer{Limit: maxOutput}, &bounded.Buffer{Limit: maxOutput}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	err := cmd.Run()
	if err == nil {
		return stdout.Bytes(), nil
	}
	if ctx.Err() != nil {
		return stdout.Bytes(), ctx.Err()
	}
	var exit *exec.ExitError
	if h.Destination != "" && errors.As(err, &exit) && exit.ExitCode() == sshFailed {
		err = ErrUnreachable
	}
	return stdout.Bytes(), &CommandError{program: argv[0], host: h.String(), Said: string(stdout.Bytes()) + string(stderr.Bytes()), err: err}
}

// CommandError is the failure of a command.
type CommandError struct {
	program, host string
	Said          string // on standard output and error
	err           error
}

// Error ends with the last that the command said.
func (e *CommandError) Error() string {
	return fmt.Sprintf("%s on %s: %v: %s", e.program, e.host, e.err, lastLine(e.Said))
}

// Exit is the exit status of the command, -1 if it has none.
func (e *CommandError) Exit() int {
	if exit, ok := errors.AsType[*exec.ExitError](e.err); ok {
		return exit.ExitCode()
	}
	return -1
}

// Unwrap is how the command ended.
func (e *CommandError) Unwrap() error { return e.err }

// String names the host.
func (h Host) String() string {
	if h.Destination == "" {
		return "this host"
	}
	return h.Destination
}

// maxOutput is what is kept of a command's output.
const maxOutput = 4 << 20

// lastLine is the last line with text, cut to what an error can show.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	return last[:min(len(last), 200)]
}
