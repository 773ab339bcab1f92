package engine

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// child is one run of the engine process.
type child struct {
	cmd    *exec.Cmd
	stdin  io.Closer // closing it tells the child to stop
	output *relay
	exited chan struct{}

	// Set before exited is closed.
	err     error // how it ended
	crashed bool
}

// startChild runs argv. The kernel kills the child when the thread that started
// it ends (Pdeathsig), so that no child outlives a crashed parent; the thread
// is therefore kept for as long as the child runs.
func startChild(argv []string, log *slog.Logger) (*child, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	c := &child{cmd: cmd, output: &relay{log: log}, exited: make(chan struct{})}
	cmd.Env = append(os.Environ(), "TZ=UTC") // the time zone of the engine
	cmd.Stdout, cmd.Stderr = c.output, c.output
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", argv[0], err)
	}
	c.stdin = stdin
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			c.wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", argv[0], err)
	}
	return c, nil
}

// goCrashStatus is the exit status of a Go program that ends with a panic or a
// fatal signal in a library.
const goCrashStatus = 2

func (c *child) wait() {
	defer close(c.exited)
	err := c.cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		c.crashed = !exit.Exited() || exit.ExitCode() == goCrashStatus
	}
	if err == nil {
		err = errors.New("exit status 0")
	}
	if said := c.output.end(); said != "" {
		err = fmt.Errorf("%w: %s", err, said)
	}
	c.err = err
}

// stop asks the child to end, kills it after the timeout, and returns when it
// has exited.
func (c *child) stop(timeout time.Duration) {
	c.stdin.Close()
	select {
	case <-c.exited:
	case <-time.After(timeout):
		c.kill()
	}
}

// kill kills the child's process group, and returns when the child has exited.
func (c *child) kill() {
	syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) // fails if it has exited already
	<-c.exited
}
