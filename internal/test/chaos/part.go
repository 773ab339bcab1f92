package chaos

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/giverny/giverny/internal/test/proc"
)

// Part is a process of the system under test. When it ends by itself, it is started again,
// as its supervisor would, and that is noted. It is for concurrent use.
type Part struct {
	Name  string
	Grace time.Duration // of a stop
	start func() (*proc.Process, error)

	mu      sync.Mutex
	process *proc.Process // guarded by mu; nil: it shall not run
	since   time.Time     // guarded by mu; when it was started last
	ended   []string      // guarded by mu; how it ended unasked
	closed  bool          // guarded by mu
	wg      sync.WaitGroup
}

// restartPause is what a supervisor waits.
const restartPause = 2 * time.Second

// logLines of a part that ended unasked are kept.
const logLines = 12

// NewPart makes a part that does not run yet.
func NewPart(name string, grace time.Duration, start func() (*proc.Process, error)) *Part {
	return &Part{Name: name, Grace: grace, start: start}
}

// Start starts it if it does not run.
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

// Adopt takes a process that runs already.
func (p *Part) Adopt(process *proc.Process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.adopt(process)
}

func (p *Part) adopt(process *proc.Process) {
	p.process, p.since = process, time.Now()
	p.wg.Go(func() { p.watch(process) })
}

// watch starts the part again when it ends unasked.
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

// noteEnd reports whether the process ended by itself.
func (p *Part) noteEnd(process *proc.Process) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.process != process || p.closed {
		return false
	}
	p.ended = append(p.ended, fmt.Sprintf("%s ended by itself: %v\n%s", p.Name, process.Err(), process.LogTail(logLines)))
	return true
}

// take makes the part one that shall not run, and returns what ran.
func (p *Part) take() *proc.Process {
	p.mu.Lock()
	defer p.mu.Unlock()
	process := p.process
	p.process = nil
	return process
}

// Kill ends it as a crash would.
func (p *Part) Kill() {
	if process := p.take(); process != nil {
		process.Kill()
	}
}

// Stop ends it in good order.
func (p *Part) Stop() {
	if process := p.take(); process != nil {
		process.Stop(p.Grace)
	}
}

// Close ends it for good.
func (p *Part) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.Kill()
	p.wg.Wait()
}

// Signal sends a signal to the process, if it runs.
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

// Age is for how long the present process has run; 0 if there is none.
func (p *Part) Age() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.process == nil {
		return 0
	}
	return time.Since(p.since)
}

// Ended is how the part ended unasked, each time.
func (p *Part) Ended() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.ended...)
}

// Kill is kill -9, and a start at the end.
type Kill struct{ Part *Part }

// Name says what is done to whom.
func (f Kill) Name() string { return "kill -9 of " + f.Part.Name }

// Inject kills.
func (f Kill) Inject(context.Context) error { f.Part.Kill(); return nil }

// Heal starts the part again.
func (f Kill) Heal(context.Context) error { return f.Part.Start() }

// Stop is SIGTERM, and a start at the end.
type Stop struct{ Part *Part }

// Name says what is done to whom.
func (f Stop) Name() string { return "SIGTERM to " + f.Part.Name }

// Inject stops.
func (f Stop) Inject(context.Context) error { f.Part.Stop(); return nil }

// Heal starts the part again.
func (f Stop) Heal(context.Context) error { return f.Part.Start() }

// Pause is SIGSTOP, and SIGCONT at the end.
type Pause struct{ Part *Part }

// Name says what is done to whom.
func (f Pause) Name() string { return "SIGSTOP of " + f.Part.Name }

// Inject pauses.
func (f Pause) Inject(context.Context) error { return f.Part.Signal(syscall.SIGSTOP) }

// Heal lets the part go on.
func (f Pause) Heal(context.Context) error { return f.Part.Signal(syscall.SIGCONT) }
