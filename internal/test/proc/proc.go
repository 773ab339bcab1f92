// Package proc starts real services for tests as child processes that cannot outlive the test: the
// kernel kills them when the test process dies, however it dies. The caller knows what the service is
// and when it is ready.
package proc

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Process is a running child.
type Process struct {
	cmd  *exec.Cmd
	log  string
	done chan struct{}
	err  error // how it ended; valid once done is closed
}

// Start runs cmd with its standard output and error appended to logPath. cmd.SysProcAttr may be set; the
// death signal is added to it.
func Start(cmd *exec.Cmd, logPath string) (*Process, error) {
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL

	p := &Process{cmd: cmd, log: logPath, done: make(chan struct{})}
	started := make(chan error, 1)
	go p.run(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	return p, nil
}

// run locks its OS thread until the child has ended: the death signal is sent when the thread that
// forked ends, not the process (prctl(2), PR_SET_PDEATHSIG).
func (p *Process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.done)
	err := p.cmd.Start()
	started <- err
	if err == nil {
		p.err = p.cmd.Wait()
	}
}

// Pid is the child's process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Done is closed once the child has ended and been waited for.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err waits for the child and returns how it ended.
func (p *Process) Err() error {
	<-p.done
	return p.err
}

// Kill sends SIGKILL and waits. It does nothing if the child has ended.
func (p *Process) Kill() {
	p.cmd.Process.Kill()
	<-p.done
}

// Stop sends SIGTERM, waits up to grace, then kills.
func (p *Process) Stop(grace time.Duration) {
	p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(grace):
		p.Kill()
	}
}

// LogTail returns the last n lines of the child's log.
func (p *Process) LogTail(n int) string {
	lines := p.logLines()
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// LogMatch returns the first n lines of the child's log that contain text.
func (p *Process) LogMatch(text string, n int) string {
	lines := slices.DeleteFunc(p.logLines(), func(line string) bool { return !strings.Contains(line, text) })
	return strings.Join(lines[:min(n, len(lines))], "\n")
}

func (p *Process) logLines() []string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return []string{fmt.Sprintf("(no log: %v)", err)}
	}
	return strings.Split(strings.TrimRight(string(text), "\n"), "\n")
}
