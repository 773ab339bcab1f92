package chaos

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/giverny/giverny/internal/test/proc"
)

// Part is a process of the system under test. If it exits by itself, that is recorded and
// it is restarted, as by a supervisor. It is safe for concurrent use.
type Part struct {
	Name  string
	Grace time.Duration // of a stop
	start func() (*proc.Process, error)

	mu      sync.Mutex
	process *proc.Process // guarded by mu; nil: it must not run
	since   time.Time     // guarded by mu; time of the last start
	ended   []string      // guarded by mu; the unexpected exits
	closed  bool          // guarded by mu
	wg      sync.WaitGroup
}

// restartPause is the pause of a supervisor.
const restartPause = 2 * time.Second

// logLines is how much of the log is kept after an unexpected exit.
const logLines = 12

// NewPart returns a part that is not running.
func NewPart(name string, grace time.Duration, start func() (*proc.Process, error)) *Part {
	return &Part{Name: name, Grace: grace, start: start}
}

// Start starts the part unless it is running.
func (p *Part) Start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.startLocked()
}

func (p *Part) startLocked() error {
	if p.process != nil || p.closed {
		return nil
	}
	process, err := p.start()
	if err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	p.adopt(process)
	return nil
}

// Adopt takes over a running process.
func (p *Part) Adopt(process *proc.Process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.adopt(process)
}

func (p *Part) adopt(process *proc.Process) {
	p.process, p.since = process, time.Now()
	p.wg.Go(func() { p.watch(process) })
}

// watch restarts the part when it exits unexpectedly.
func (p *Part) watch(process *proc.Process) {
	<-process.Done()
	if !p.noteEnd(process) {
		return
	}
	time.Sleep(restartPause)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.process != process {
		return
	}
	p.process = nil
	if err := p.startLocked(); err != nil {
		p.ended = append(p.ended, err.Error())
	}
}

// noteEnd reports whether the process exited unexpectedly.
func (p *Part) noteEnd(process *proc.Process) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.process != process || p.closed {
		return false
	}
	p.ended = append(p.ended, fmt.Sprintf("%s ended by itself: %v\n%s", p.Name, process.Err(), process.LogTail(logLines)))
	return true
}

// take marks the part as stopped, and returns its process.
func (p *Part) take() *proc.Process {
	p.mu.Lock()
	defer p.mu.Unlock()
	process := p.process
	p.process = nil
	return process
}

// Kill kills the part like a crash.
func (p *Part) Kill() {
	if process := p.take(); process != nil {
		process.Kill()
	}
}

// Stop shuts the part down cleanly.
func (p *Part) Stop() {
	if process := p.take(); process != nil {
		process.Stop(p.Grace)
	}
}

// Close stops the part permanently.
func (p *Part) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.Kill()
	p.wg.Wait()
}

// Signal sends a signal to the process, if it is running.
func (p *Part) Signal(s syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.process == nil {
		return nil
	}
	select {
	case <-p.process.Done():
		return nil
	default:
		return syscall.Kill(p.process.Pid(), s)
	}
}

// Age is how long the current process has run; 0 if there is none.
func (p *Part) Age() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.process == nil {
		return 0
	}
	return time.Since(p.since)
}

// Ended lists the unexpected exits.
func (p *Part) Ended() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.ended...)
}

// Kill is the fault kill -9, followed by a restart.
type Kill struct{ Part *Part }

// Name describes the fault.
func (f Kill) Name() string { return "kill -9 of " + f.Part.Name }

// Inject kills.
func (f Kill) Inject(context.Context) error { f.Part.Kill(); return nil }

// Heal starts the part again.
func (f Kill) Heal(context.Context) error { return f.Part.Start() }

// Stop is the fault SIGTERM, followed by a restart.
type Stop struct{ Part *Part }

// Name describes the fault.
func (f Stop) Name() string { return "SIGTERM to " + f.Part.Name }

// Inject stops.
func (f Stop) Inject(context.Context) error { f.Part.Stop(); return nil }

// Heal starts the part again.
func (f Stop) Heal(context.Context) error { return f.Part.Start() }

// Pause is the fault SIGSTOP, followed by SIGCONT.
type Pause struct{ Part *Part }

// Name describes the fault.
func (f Pause) Name() string { return "SIGSTOP of " + f.Part.Name }

// Inject pauses.
func (f Pause) Inject(context.Context) error { return f.Part.Signal(syscall.SIGSTOP) }

// Heal continues the part.
func (f Pause) Heal(context.Context) error { return f.Part.Signal(syscall.SIGCONT) }
