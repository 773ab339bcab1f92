// Package coprocess runs a program that is asked line by line: a request on its
// standard input, an answer on its standard output. In go an argument vector and
// lines, out come lines; how long a program may take, how much it may write and how
// it is ended are bounded here. What the lines mean, its users know.
package coprocess

import (
	"bufio"
	"bytes"
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

// Program is a running program that is asked line by line.
type Program struct {
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	lines  *bufio.Reader
}

// Reason is what kept a program from answering.
type Reason string

// Reasons.
const (
	Late           Reason = "late"             // no answer in time
	Died           Reason = "died"             // the program ended, or could not be started
	AnswerTooLarge Reason = "answer_too_large" // an answer beyond the limit of length
)

// Limits of what a program may write.
const (
	maxAnswerBytes = 1 << 20
	maxLogBytes    = 500 // of a line on standard error
)

// waitDelay is how long a killed program's children may hold its standard error open.
const waitDelay = time.Second

// Start runs a program in a process group of its own, so that a Ctrl-C of the
// terminal does not reach it and its children end with it.
func Start(command []string, log *slog.Logger) (*Program, error) {
	inRead, inWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, inRead.Close(), inWrite.Close())
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inRead, outWrite, &lineLogger{log: log}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = waitDelay
	err = cmd.Start()
	closed := errors.Join(inRead.Close(), outWrite.Close())
	if err = errors.Join(err, closed); err != nil {
		return nil, errors.Join(fmt.Errorf("start: %w", err), inWrite.Close(), outRead.Close())
	}
	return &Program{cmd: cmd, stdin: inWrite, stdout: outRead, lines: bufio.NewReaderSize(outRead, 1<<16)}, nil
}

// Ask writes a line and reads one, each until the timeout or the end of ctx.
func (p *Program) Ask(ctx context.Context, line []byte, timeout time.Duration) ([]byte, Reason, error) {
	until := time.Now().Add(timeout)
	if err := errors.Join(p.stdin.SetDeadline(until), p.stdout.SetDeadline(until)); err != nil {
		return nil, Died, err
	}
	stop := context.AfterFunc(ctx, func() {
		_ = p.stdin.SetDeadline(time.Unix(1, 0)) // they fail only on a closed file
		_ = p.stdout.SetDeadline(time.Unix(1, 0))
	})
	defer stop()
	if _, err := p.stdin.Write(append(line, '\n')); err != nil && !errors.Is(err, syscall.EPIPE) { // what it wrote before it ended says more
		return nil, reasonOf(err), fmt.Errorf("it does not read: %w", err)
	}
	answer, err := p.readLine()
	if errors.Is(err, errHuge) {
		return nil, AnswerTooLarge, err
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, Late, fmt.Errorf("no answer within %v", timeout)
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

// readLine reads up to the end of a line.
func (p *Program) readLine() ([]byte, error) {
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

// Stop asks the program to end, and kills it after the timeout.
func (p *Program) Stop(timeout time.Duration) error {
	_ = p.stdin.SetDeadline(time.Now().Add(timeout))
	_, err := p.stdin.Write([]byte(`{"type":"stop"}` + "\n"))
	if err != nil { // it does not listen any more
		_ = p.Kill()
		return nil
	}
	_ = p.stdin.Close()
	killer := time.AfterFunc(timeout, p.killGroup)
	defer killer.Stop()
	_ = p.cmd.Wait() // it was stopped: its exit status says nothing
	p.killGroup()    // what it has left behind
	return p.stdout.Close()
}

// Kill ends the program and all it has started. It returns how the program ended,
// nil if it ended by itself and without an error.
func (p *Program) Kill() error {
	p.killGroup()
	_ = p.stdin.Close()
	err := p.cmd.Wait()
	_ = p.stdout.Close()
	return err
}

func (p *Program) killGroup() { _ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }

// lineLogger passes lines to a log, cut to a length that a log can bear.
type lineLogger struct {
	log  *slog.Logger
	part []byte
}

// Write never fails: what a program says on standard error must not stop it.
func (l *lineLogger) Write(text []byte) (int, error) {
	n := len(text)
	for {
		line, rest, complete := bytes.Cut(text, []byte("\n"))
		if room := maxLogBytes - len(l.part); room > 0 {
			l.part = append(l.part, line[:min(len(line), room)]...)
		}
		if !complete {
			return n, nil
		}
		l.log.Info("coprocess: line on standard error", "line", string(l.part))
		l.part, text = l.part[:0], rest
	}
}
