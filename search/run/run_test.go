package run_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"

	"github.com/giverny/giverny/search"
	"github.com/giverny/giverny/search/engine"
	"github.com/giverny/giverny/search/run"
	"github.com/giverny/giverny/search/simulated"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == searchArgument {
		searchUntilKilled(os.Args[2])
		return
	}
	goleak.VerifyTestMain(m)
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// simulatedPairs are engines of flaky subsystem F.
func simulatedPairs(t testing.TB, pairs int) (engines []engine.Engine) {
	for i := range pairs {
		e, err := engine.NewSimulated(engine.SimulatedConfig{Subsystem: "F", Seed: uint64(i), Flaky: simulated.Flakiness{SetupFailed: .05}})
		if err != nil {
			t.Fatal(err)
		}
		engines = append(engines, e)
	}
	return engines
}

// options returns options of a search whose findings are written to w as lines.
func options(t testing.TB, budget, pairs int, w *bytes.Buffer) run.Options {
	return run.Options{
		Engines: simulatedPairs(t, pairs), Search: search.Config{Algorithm: search.Lift, Budget: budget, Seed: 7}, Logger: discard(),
		OnFinding: func(f run.Finding) error { return json.NewEncoder(w).Encode(f) },
	}
}

func mustRun(t testing.TB, ctx context.Context, o run.Options) run.Summary {
	t.Helper()
	s, err := run.Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A search interrupted by its context at any measurement, repeatedly, ends like an
// uninterrupted one.
func TestResumedSearchEndsTheSame(t *testing.T) {
	const budget = 300
	var whole bytes.Buffer
	want := mustRun(t, t.Context(), options(t, budget, 1, &whole))
	if want.Anomalies < 4 || want.Failed == 0 || want.Experiments != budget {
		t.Fatalf("%+v: too little for this test", want)
	}
	log := filepath.Join(t.TempDir(), "search.log")
	for stop := 17; ; stop += 61 {
		var out bytes.Buffer
		ctx, cancel := context.WithCancel(t.Context())
		o := options(t, budget, 1, &out)
		o.Log = log
		o.OnProgress = func(p run.Progress) {
			if p.Experiments == stop {
				cancel()
			}
		}
		got := mustRun(t, ctx, o)
		cancel()
		if got.Interrupted {
			if got.Experiments != stop {
				t.Fatalf("stopped at %d, it says %+v", stop, got)
			}
			continue
		}
		if got != want || out.String() != whole.String() {
			t.Errorf("resumed: %+v\n%swant: %+v\n%s", got, &out, want, &whole)
		}
		break
	}
	checkLog(t, log, whole.String())
}

// checkLog checks that a log has the findings once.
func checkLog(t *testing.T, path, findings string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var found strings.Builder
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, `{"type":"search"`) && !strings.HasPrefix(line, `{"type":"measurement"`) {
			found.WriteString(line)
		}
	}
	if found.String() != findings {
		t.Errorf("the log has the findings\n%swant\n%s", found.String(), findings)
	}
}

// A torn last line is truncated; other malformed lines are reported.
func TestTornLog(t *testing.T) {
	var whole bytes.Buffer
	o := options(t, 120, 1, &whole)
	o.Log = filepath.Join(t.TempDir(), "search.log")
	want := mustRun(t, t.Context(), o)
	text, err := os.ReadFile(o.Log)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{10, len(text) / 3, len(text) - 1} {
		if err := os.WriteFile(o.Log, text[:size], 0o644); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		again := options(t, 120, 1, &out)
		again.Log = o.Log
		if got := mustRun(t, t.Context(), again); got != want || out.String() != whole.String() {
			t.Errorf("cut at %d bytes: %+v\n%swant: %+v\n%s", size, got, &out, want, &whole)
		}
	}
	broken := append(bytes.Replace(text, []byte(`"id":3,`), []byte(`"id":4,`), 1), text...)
	if err := os.WriteFile(o.Log, broken, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := run.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "search.log: line 4: measurement 4 of pair 1 does not follow") || !strings.Contains(err.Error(), "delete it and all following lines") {
		t.Errorf("%v; want the line named, and what to do", err)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	damaged := bytes.Join([][]byte{bytes.Join(lines[:4], nil), []byte("garbage\n"), bytes.Join(lines[4:], nil)}, nil)
	if err := os.WriteFile(o.Log, damaged, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := run.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "search.log: line 5: invalid character") || !strings.Contains(err.Error(), "delete it and all following lines") {
		t.Errorf("%v; want the line named, and what to do", err)
	}
}

// The log of a version that asks for other workloads, or finds more in the same ones,
// is refused and left unchanged.
func TestLogOfAnotherVersion(t *testing.T) {
	o := options(t, 60, 1, &bytes.Buffer{})
	o.Log = filepath.Join(t.TempDir(), "search.log")
	mustRun(t, t.Context(), o)
	text, err := os.ReadFile(o.Log)
	if err != nil {
		t.Fatal(err)
	}
	workload := regexp.MustCompile(`"workload":\{[^}]*\}`)
	first := workload.Find(text)
	second := workload.FindIndex(text[bytes.Index(text, []byte(`"id":2,`)):])
	at := bytes.Index(text, []byte(`"id":2,`))
	other := slices.Concat(text[:at+second[0]], first, text[at+second[1]:])
	finding := regexp.MustCompile(`(?m)^\{"type":"anomaly".*\n`).Find(text)
	for name, changed := range map[string][]byte{
		"line 3: this search would have requested another workload: the log was written by another version of giverny": other,
		"findings, but its measurements give": slices.Concat(text, finding),
	} {
		if err := os.WriteFile(o.Log, changed, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := run.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v; want %q", err, name)
		}
		if left, err := os.ReadFile(o.Log); err != nil || !bytes.Equal(left, changed) {
			t.Errorf("%q: the log was changed (%v)", name, err)
		}
	}
}

// A log is resumed only with its own settings.
func TestLogOfAnotherSearch(t *testing.T) {
	log := filepath.Join(t.TempDir(), "search.log")
	o := options(t, 30, 1, &bytes.Buffer{})
	o.Log = log
	mustRun(t, t.Context(), o)
	for says, change := range map[string]func(*run.Options){
		"with seed 7":         func(o *run.Options) { o.Search.Seed = 8 },
		"with algorithm lift": func(o *run.Options) { o.Search.Algorithm = search.Random },
		"with 1 pairs":        func(o *run.Options) { o.Engines = simulatedPairs(t, 2) },
		"another restriction": func(o *run.Options) { o.Restrict = restriction(t, "qps: {max: 64}") },
		"with a budget of 30, which determines the order of measurements: use --budget 30 to finish it": func(o *run.Options) { o.Search.Budget = 31 },
	} {
		o := options(t, 30, 1, &bytes.Buffer{})
		o.Log = log
		change(&o)
		if _, err := run.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v; want %q", err, says)
		}
	}
	for text, says := range map[string]string{
		"notes\n":                     "it is not a search log",
		"notes\nof the rig":           "it is not a search log",
		`{"pairs":[{"client":"n1"}]}`: "it is not a search log",
		`{"type":"search","version":2}` + "\n" + `{"ty`: "it has version 2",
	} {
		if err := os.WriteFile(log, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := run.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v; want %q", err, says)
		}
		if left, err := os.ReadFile(log); err != nil || string(left) != text {
			t.Errorf("the file was changed to %q, %v; want it left as %q", left, err, text)
		}
	}
}

func restriction(t *testing.T, text string) search.Restriction {
	t.Helper()
	r, err := search.ParseRestriction([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// gate blocks measurements until it is open.
type gate struct {
	engine.Engine
	arrived, open chan struct{}
}

func (g *gate) Measure(ctx context.Context, id int, w search.Workload) (search.Measurement, error) {
	select {
	case g.arrived <- struct{}{}: // full once the gate is open
	case <-g.open:
	}
	select {
	case <-g.open:
		return g.Engine.Measure(ctx, id, w)
	case <-ctx.Done():
		return search.Measurement{}, ctx.Err()
	}
}

// Pairs measure in parallel: all are busy before the first is done.
func TestPairsAreBusySideBySide(t *testing.T) {
	const pairs, budget = 3, 40
	o := options(t, budget, pairs, &bytes.Buffer{})
	arrived, open := make(chan struct{}), make(chan struct{})
	for i := range o.Engines {
		o.Engines[i] = &gate{o.Engines[i], arrived, open}
	}
	go func() {
		for range pairs {
			<-arrived
		}
		close(open)
	}()
	if s := mustRun(t, t.Context(), o); s.Experiments != budget {
		t.Errorf("%+v; want %d experiments", s, budget)
	}
}

// erring fails at the given identifiers. Its first five measurements wait for those of
// the other engine that meets it, if any: a loaded machine may run one pair to the end
// before the next begins.
type erring struct {
	engine.Engine
	with  map[int]error
	meet  chan struct{}
	calls int
}

func (e *erring) Measure(ctx context.Context, id int, w search.Workload) (search.Measurement, error) {
	if e.calls++; e.meet != nil && e.calls <= 5 {
		select {
		case e.meet <- struct{}{}:
		case <-e.meet:
		case <-ctx.Done():
		}
	}
	if err := e.with[id]; err != nil {
		return search.Measurement{}, err
	}
	return e.Engine.Measure(ctx, id, w)
}

// A fault costs an experiment; if a pair's engine is gone, the others do the rest.
func TestFaultsOfEngines(t *testing.T) {
	fault := &engine.Fault{Engine: "F", Reason: engine.Late, Err: errors.New("no answer")}
	gone := fmt.Errorf("%w: %w", fault, engine.ErrGone)
	o := options(t, 60, 2, &bytes.Buffer{})
	meet := make(chan struct{})
	o.Engines[0] = &erring{Engine: o.Engines[0], with: map[int]error{3: fault, 5: gone}, meet: meet}
	o.Engines[1] = &erring{Engine: o.Engines[1], with: map[int]error{2: fault}, meet: meet}
	reg := prometheus.NewRegistry()
	var err error
	if o.Metrics, err = run.NewMetrics(reg); err != nil {
		t.Fatal(err)
	}
	s := mustRun(t, t.Context(), o)
	if s.Experiments != 60 || s.Failed < 3 {
		t.Errorf("%+v; want 60 experiments, 3 of them failed", s)
	}
	want := `# HELP giverny_search_engine_faults_total Measurements in which the engine failed, by reason; the engine was restarted.
# TYPE giverny_search_engine_faults_total counter
giverny_search_engine_faults_total{reason="answer_too_large"} 0
giverny_search_engine_faults_total{reason="died"} 0
giverny_search_engine_faults_total{reason="duplicate_answer"} 0
giverny_search_engine_faults_total{reason="invalid_answer"} 0
giverny_search_engine_faults_total{reason="late"} 3
`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "giverny_search_engine_faults_total"); err != nil {
		t.Error(err)
	}
	o = options(t, 60, 1, &bytes.Buffer{})
	o.Engines[0] = &erring{Engine: o.Engines[0], with: map[int]error{5: gone}}
	s, err = run.Run(t.Context(), o)
	var engineError *run.EngineError
	if !errors.As(err, &engineError) || !errors.Is(err, engine.ErrGone) || s.Experiments > 5 || s.Failed == 0 {
		t.Errorf("%v, %+v; want the end of the engine at its fifth measurement", err, s)
	}
}

// shy fails to describe itself for a while.
type shy struct {
	engine.Engine
	fails int
}

func (e *shy) Describe(ctx context.Context) (search.Description, error) {
	if e.fails--; e.fails >= 0 {
		return search.Description{}, &engine.Fault{Engine: "F", Reason: engine.InvalidAnswer, Err: errors.New("warming up")}
	}
	return e.Engine.Describe(ctx)
}

// An engine may fail twice to describe itself.
func TestEngineThatDescribesItselfLate(t *testing.T) {
	for fails, works := range map[int]bool{2: true, 3: false} {
		o := options(t, 5, 1, &bytes.Buffer{})
		o.Engines[0] = &shy{o.Engines[0], fails}
		_, err := run.Run(t.Context(), o)
		var engineError *run.EngineError
		if works && err != nil || !works && !errors.As(err, &engineError) {
			t.Errorf("after %d failures: %v", fails, err)
		}
	}
}

// The remaining time is estimated from the rate since the search was resumed.
func TestTimeLeft(t *testing.T) {
	p := run.Progress{Summary: search.Summary{Experiments: 60}, Budget: 100, Resumed: 40, Elapsed: 10 * time.Second}
	if got := p.Left(); got != 20*time.Second {
		t.Errorf("%v left; want 20s", got)
	}
	if p.Resumed = 60; p.Left() != 0 {
		t.Errorf("%v left; want none known", p.Left())
	}
}
