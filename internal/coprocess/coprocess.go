// Package coprocess runs a program with a line protocol: a request on its standard
// input, an answer on its standard output. Input: an argument vector and request lines.
// Output: answer lines. It enforces timeouts and size limits and terminates the
// program. The callers define the meaning of the lines.
package coprocess

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// program is a running coprocess.
type program struct {
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	lines  *bufio.Reader
	stderr *lineLogger
}

// Reason is why a program did not answer.
type Reason string

// Reasons.
const (
	Late           Reason = "late"             // timeout
	Died           Reason = "died"             // the program exited or could not be started
	AnswerTooLarge Reason = "answer_too_large" // an answer above the size limit
	InvalidAnswer  Reason = "invalid_answer"   // a malformed or impossible answer; its reader reports it
)

// maxAnswerBytes is the limit of an answer.
const maxAnswerBytes = 1 << 20

// waitDelay is how long children of a killed program may hold its standard error open.
const waitDelay = time.Second

// start runs a program in its own process group, so that a Ctrl-C in the terminal does
// not reach it and its children are terminated with it.
func start(command []string, log *slog.Logger) (*program, error) {
	inRead, inWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, inRead.Close(), inWrite.Close())
	}
	cmd := exec.Command(command[0], command[1:]...)
	stderr := &lineLogger{log: log, now: time.Now}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inRead, outWrite, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = waitDelay
	err = cmd.Start()
	closed := errors.Join(inRead.Close(), outWrite.Close())
	if err = errors.Join(err, closed); err != nil {
		return nil, errors.Join(fmt.Errorf("start: %w", err), inWrite.Close(), outRead.Close())
	}
	return &program{cmd: cmd, stdin: inWrite, stdout: outRead, lines: bufio.NewReaderSize(outRead, 1<<16), stderr: stderr}, nil
}

// Ask writes a line and reads one, within the timeout and until ctx ends.
func (p *program) Ask(ctx context.Context, line []byte, timeout time.Duration) ([]byte, Reason, error) {
	until := time.Now().Add(timeout)
	if err := errors.Join(p.stdin.SetDeadline(until), p.stdout.SetDeadline(until)); err != nil {
		return nil, Died, err
	}
	stop := context.AfterFunc(ctx, func() {
		_ = p.stdin.SetDeadline(time.Unix(1, 0)) // fails only on a closed file
		_ = p.stdout.SetDeadline(time.Unix(1, 0))
	})
	defer stop()
	if _, err := p.stdin.Write(append(line, '\n')); err != nil && !errors.Is(err, syscall.EPIPE) { // what it wrote before exiting says more
		return nil, reasonOf(err), fmt.Errorf("it does not read its input: %w", err)
	}
	answer, err := p.readLine()
	if errors.Is(err, errHuge) {
		return nil, AnswerTooLarge, err
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, Late, fmt.Errorf("timed out after %v", timeout)
	}
	if errors.Is(err, io.EOF) {
		return nil, Died, errors.New("it ended")
	}
	return answer, Died, err
}

func reasonOf(err error) Reason {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return Late
	}
	return Died
}

var errHuge = fmt.Errorf("its answer is longer than %d bytes", maxAnswerBytes)

// readLine reads a line.
func (p *program) readLine() ([]byte, error) {
	var line []byte
	for {
		part, err := p.lines.ReadSlice('\n')
		if len(line)+len(part) > maxAnswerBytes {
			return nil, errHuge
		}
		line = append(line, part...)
		if err == nil {
			return line, nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
}

// Stop asks the program to exit, and kills it after the timeout.
func (p *program) Stop(timeout time.Duration) error {
	_ = p.stdin.SetDeadline(time.Now().Add(timeout))
	_, err := p.stdin.Write([]byte(`{"type":"stop"}` + "\n"))
	if err != nil { // it no longer reads
		_ = p.Kill()
		return nil
	}
	_ = p.stdin.Close()
	killer := time.AfterFunc(timeout, p.killGroup)
	defer killer.Stop()
	_ = p.cmd.Wait() // its exit status does not matter, since it was stopped
	p.killGroup()    // its remaining children
	p.stderr.close()
	return p.stdout.Close()
}

// Kill kills the program and its children. It returns how the program ended, nil if it
// had exited without an error.
func (p *program) Kill() error {
	p.killGroup()
	_ = p.stdin.Close()
	err := p.cmd.Wait()
	p.stderr.close()
	_ = p.stdout.Close()
	return err
}

func (p *program) killGroup() { _ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }
