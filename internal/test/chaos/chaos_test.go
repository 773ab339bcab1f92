package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/giverny/giverny/internal/test/await"
	"github.com/giverny/giverny/internal/test/proc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// flag is a fault that records its calls.
type flag struct {
	name  string
	mu    sync.Mutex
	notes []string
	fail  error
}

func (f *flag) Name() string { return f.name }
func (f *flag) Inject(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.notes = append(f.notes, "injected")
	return f.fail
}
func (f *flag) Heal(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.notes = append(f.notes, "healed")
	return nil
}

func madeKinds() (kinds []Kind) {
	for i := range 5 {
		kinds = append(kinds, Kind{Name: fmt.Sprint("kind", i), Targets: []string{"a", "b", fmt.Sprint("c", i)}, HoldMin: time.Second, HoldMax: 20 * time.Second,
			New: func(rng *rand.Rand, target string) Fault { return &flag{name: fmt.Sprint(target, rng.IntN(1000))} }})
	}
	return kinds
}

func TestAWalkFollowsFromItsSeed(t *testing.T) {
	describe := func(seed uint64) string {
		var s strings.Builder
		for _, step := range Plan(seed, madeKinds(), 5*time.Minute) {
			fmt.Fprintln(&s, step)
		}
		return s.String()
	}
	first := describe(1)
	if again := describe(1); first != again {
		t.Error("the same seed gives two walks")
	}
	if first == describe(2) {
		t.Error("two seeds give the same walk")
	}
}

func TestAWalkKeepsItsBounds(t *testing.T) {
	const length = 5 * time.Minute
	for seed := range uint64(50) {
		steps := Plan(seed, madeKinds(), length)
		if len(steps) < 20 {
			t.Fatalf("seed %d: %d faults in %v", seed, len(steps), length)
		}
		for i, s := range steps {
			if s.At+s.Hold > length || s.Hold < time.Second || s.Hold > 20*time.Second {
				t.Errorf("seed %d: %v", seed, s)
			}
			there := 0
			for j, o := range steps {
				if overlap := o.At <= s.At && o.At+o.Hold > s.At; overlap {
					there++
					if i != j && o.Target == s.Target {
						t.Errorf("seed %d: %v and %v on one target", seed, o, s)
					}
				}
			}
			if there > maxAtOnce {
				t.Errorf("seed %d: %d faults at once at %v", seed, there, s.At)
			}
		}
		counts := Counts(steps)
		if len(counts) != len(madeKinds()) {
			t.Errorf("seed %d: %v", seed, counts)
		}
	}
}

func TestRunThrowsAndHealsAll(t *testing.T) {
	a, b := &flag{name: "a"}, &flag{name: "b", fail: errors.New("no way")}
	var notes []string
	err := Run(t.Context(), []Step{{At: 0, Hold: time.Millisecond, Fault: a}, {At: time.Millisecond, Hold: time.Hour, Fault: b}}[:1], func(s string) { notes = append(notes, s) })
	if err != nil || len(notes) != 2 {
		t.Errorf("%v, %q", err, notes)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = Run(ctx, []Step{{Hold: time.Hour, Fault: b}}, func(string) { cancel() }) // once it is injected
	if err == nil || !strings.Contains(err.Error(), "no way") || !slices.Equal(b.notes, []string{"injected", "healed"}) {
		t.Errorf("a walk that is cut off: %v, %v", err, b.notes)
	}
}

func TestHistorySurvivesADeathInTheMiddleOfALine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j, err := OpenJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	one, two := Reading{Agent: "a", TrueNanos: 5, StatedNanos: 5}, Reading{Agent: "a", TrueNanos: 6, StatedNanos: 9}
	for _, err := range []error{j.Begun(one), j.Acked(one), j.Begun(two), j.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(file, "acked a 6")
	file.Close()
	got, err := ReadHistory([]string{path})
	one.Acked = true
	if want := []Reading{one, two}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

// echo is an echo server.
func echo(t *testing.T) net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { defer c.Close(); io.Copy(c, c) })
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return l
}

// ask sends a word through a proxy and waits for the response.
func ask(p *Proxy, patience time.Duration) (took time.Duration, err error) {
	began := time.Now()
	c, err := net.DialTimeout("tcp", p.Addr(), patience)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	if _, err := c.Write([]byte("word")); err != nil {
		return 0, err
	}
	_, err = io.ReadFull(c, make([]byte, 4))
	return time.Since(began), err
}

func TestTheProxyDoesWhatItsLineSays(t *testing.T) {
	server := echo(t)
	p, err := NewProxy("tcp", server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	const long = time.Minute
	if _, err := ask(p, long); err != nil {
		t.Errorf("a clear line: %v", err)
	}
	p.Set(Line{Delay: 100 * time.Millisecond})
	if took, err := ask(p, long); err != nil || took < 200*time.Millisecond {
		t.Errorf("a line of 100 ms: %v, %v", took, err)
	}
	p.Set(Line{BytesPerSecond: 20})
	if took, err := ask(p, long); err != nil || took < 400*time.Millisecond {
		t.Errorf("4 bytes there and back at 20 bytes a second: %v, %v", took, err)
	}
	p.Set(Line{Cut: true})
	if _, err := ask(p, long); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a cut line: %v", err)
	}
	p.Set(Line{Hole: true})
	if _, err := ask(p, 200*time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a black hole: %v", err)
	}
	p.Set(Line{})
	if _, err := ask(p, long); err != nil {
		t.Errorf("a line that is clear again: %v", err)
	}
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("word")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	p.Set(Line{Cut: true})
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("a connection outlives the cut")
	}
}

func startSleep(t *testing.T) func() (*proc.Process, error) {
	log := filepath.Join(t.TempDir(), "log")
	return func() (*proc.Process, error) { return proc.Start(exec.Command("sleep", "600"), log) }
}

func TestAPartThatEndsByItselfIsStartedAgainAndNoted(t *testing.T) {
	p := NewPart("sleeper", time.Second, startSleep(t))
	defer p.Close()
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	if err := p.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if !await.Holds(time.Minute, 10*time.Millisecond, func() bool { return len(p.Ended()) > 0 && runs(p) }) {
		t.Fatalf("not started again; ended: %q", p.Ended())
	}
	if len(p.Ended()) != 1 {
		t.Errorf("ended: %q", p.Ended())
	}
}

func runs(p *Part) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.process == nil {
		return false
	}
	select {
	case <-p.process.Done():
		return false
	default:
		return true
	}
}

func TestFaultsOfAPart(t *testing.T) {
	p := NewPart("sleeper", 10*time.Second, startSleep(t))
	defer p.Close()
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	for _, f := range []Fault{Kill{p}, Stop{p}, Pause{p}} {
		if err := f.Inject(t.Context()); err != nil {
			t.Errorf("%s: %v", f.Name(), err)
		}
		if _, paused := f.(Pause); runs(p) != paused {
			t.Errorf("%s: runs %v", f.Name(), runs(p))
		}
		if err := f.Heal(t.Context()); err != nil {
			t.Errorf("%s healed: %v", f.Name(), err)
		}
		if !runs(p) {
			t.Errorf("%s healed: it does not run", f.Name())
		}
	}
	if ended := p.Ended(); len(ended) > 0 {
		t.Errorf("faults count as ends by itself: %q", ended)
	}
}
