// Package perftest runs the tools of linux-rdma's perftest (ib_write_bw, ib_write_lat,
// ...) and parses their tables. Input: argument vectors for this host or one reached by
// ssh. Output: what both sides of a test print, and rows of the tables. Callers choose
// the tests.
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
	"github.com/giverny/giverny/internal/procgroup"
)

// Host runs commands on a host. Arguments are passed unchanged.
type Host struct {
	SSH         []string // ssh and its options
	Destination string   // for ssh; empty: this host
}

// sshFailed is the exit status of ssh if the connection failed.
const sshFailed = 255

// ErrUnreachable means that ssh could not connect to the host.
var ErrUnreachable = errors.New("ssh does not reach the host")

// command returns the argument vector to execute locally.
func (h Host) command(argv []string) []string {
	if h.Destination == "" {
		return argv
	}
	// ssh passes a single string to the remote shell; quoting preserves the arguments.
	quoted := make([]string, len(argv))
	for i, a := range argv {
		quoted[i] = quote(a)
	}
	line := append([]string{}, h.SSH...)
	return append(line, "--", h.Destination, strings.Join(quoted, " "))
}

// quote quotes an argument for a POSIX shell.
func quote(s string) string {
	const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:=,@%+"
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// killDelay is how long a command may go on after its context has ended.
const killDelay = 2 * time.Second

// Run executes a command and returns its standard output. A failure is a *CommandError.
func (h Host) Run(ctx context.Context, argv ...string) ([]byte, error) {
	line := h.command(argv)
	cmd := procgroup.Command(ctx, line, killDelay)
	if h.Destination == "" { // a waiting server must not outlive this process
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
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
	Said          string // standard output and error
	err           error
}

// Error ends with the last line of the command's output.
func (e *CommandError) Error() string {
	return fmt.Sprintf("%s on %s: %v: %s", e.program, e.host, e.err, lastLine(e.Said))
}

// Exit returns the exit status of the command, -1 if it has none.
func (e *CommandError) Exit() int {
	if exit, ok := errors.AsType[*exec.ExitError](e.err); ok {
		return exit.ExitCode()
	}
	return -1
}

// Unwrap returns how the command ended.
func (e *CommandError) Unwrap() error { return e.err }

// String returns the name of the host.
func (h Host) String() string {
	if h.Destination == "" {
		return "this host"
	}
	return h.Destination
}

// maxOutput bounds the output kept of a command, in bytes.
const maxOutput = 4 << 20

// lastLine returns the last non-empty line, truncated for an error.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	return last[:min(len(last), 200)]
}
