package run_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sys/unix"

	"github.com/giverny/giverny/internal/test/metric"
	"github.com/giverny/giverny/search"
	"github.com/giverny/giverny/search/engine"
	"github.com/giverny/giverny/search/run"
)

// ReadLog returns what a search has written, also while it runs: an incomplete last line does not count.
func TestReadLog(t *testing.T) {
	var findings bytes.Buffer
	o := options(t, 120, 1, &findings)
	o.Log = filepath.Join(t.TempDir(), "search.log")
	want := mustRun(t, t.Context(), o)
	text, err := os.ReadFile(o.Log)
	if err != nil {
		t.Fatal(err)
	}
	read := func(content string) (run.Log, error) {
		t.Helper()
		if err := os.WriteFile(o.Log, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return run.ReadLog(o.Log)
	}
	for _, rest := range []string{"", `{"type":"measure`} {
		l, err := read(string(text) + rest)
		if err != nil {
			t.Fatal(err)
		}
		experiments, failed := 0, 0
		for i, m := range l.Measurements {
			if m.Pair != 1 || m.ID != i+1 || len(m.Workload) == 0 {
				t.Fatalf("measurement %d is %+v", i+1, m)
			}
			if m.Measurement.Status != search.Invalid {
				experiments++
			}
			if m.Measurement.Status == search.SetupFailed {
				failed++
			}
		}
		if experiments != want.Experiments || failed != want.Failed || failed == 0 || string(bytes.Join(l.Findings, nil)) != findings.String() || findings.Len() == 0 {
			t.Errorf("%d experiments, %d failed, findings\n%s\nwant %+v\n%s", experiments, failed, bytes.Join(l.Findings, nil), want, &findings)
		}
		if s := l.Header.Settings; s.Seed != 7 || s.Budget != 120 || s.Pairs != 1 || s.Algorithm != search.Lift {
			t.Errorf("settings %+v", s)
		}
	}
	lines := strings.SplitAfter(string(text), "\n")
	for content, says := range map[string]string{
		"":                                     "it is not a search log",
		"no newline":                           "it is not a search log",
		"notes\n":                              "it is not a search log",
		lines[1]:                               "it is not a search log",
		lines[0] + lines[1] + "x\n":            "search.log: line 3: ",
		`{"type":"search","version":2}` + "\n": "it has version 2",
	} {
		if l, err := read(content); err == nil || !strings.Contains(err.Error(), says) || len(l.Findings) != 0 {
			t.Errorf("%.60q: %v, want %q", content, err, says)
		}
	}
	if _, err := run.ReadLog(o.Log + ".absent"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a log that is absent: %v", err)
	}
}

// A log is used by one search at a time.
func TestLogInUse(t *testing.T) {
	o := options(t, 5, 1, &bytes.Buffer{})
	o.Log = filepath.Join(t.TempDir(), "search.log")
	mustRun(t, t.Context(), o)
	held, err := os.Open(o.Log)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := unix.Flock(int(held.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if _, err := run.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "search.log: in use by another search") {
		t.Errorf("%v", err)
	}
	o.Log = filepath.Join(o.Log, "below.log")
	if _, err := run.Run(t.Context(), o); !errors.Is(err, unix.ENOTDIR) {
		t.Errorf("a log below a file: %v", err)
	}
}

// A resumed search keeps the calibration of its log: engines that measure other limits now change nothing.
func TestResumeWithAnotherCalibration(t *testing.T) {
	var whole, out bytes.Buffer
	want := mustRun(t, t.Context(), options(t, 120, 1, &whole))
	o := options(t, 120, 1, &out)
	o.Log = filepath.Join(t.TempDir(), "search.log")
	ctx, cancel := context.WithCancel(t.Context())
	o.OnProgress = func(p run.Progress) {
		if p.Experiments == 50 {
			cancel()
		}
	}
	if got := mustRun(t, ctx, o); !got.Interrupted || got.Experiments != 50 {
		t.Fatalf("%+v", got)
	}
	out.Reset()
	o.Engines = simulatedPairs(t, 1)
	o.Engines[0] = other{o.Engines[0], func(d *search.Description) { d.LineRateGbps, d.MessageRateMpps = d.LineRateGbps/2, d.MessageRateMpps/2 }}
	resumed := -1
	o.OnProgress = func(p run.Progress) { resumed = p.Resumed }
	if got := mustRun(t, t.Context(), o); got != want || out.String() != whole.String() || resumed != 50 {
		t.Errorf("resumed after %d: %+v\n%swant %+v\n%s", resumed, got, &out, want, &whole)
	}
}

// Errors of an engine that are no faults end the search, with the pair; a fault is one failed experiment. An interrupted
// measurement counts for nothing, whatever its error.
func TestErrorsOfEngines(t *testing.T) {
	broken := errors.New("the cable is cut")
	o := options(t, 60, 2, &bytes.Buffer{})
	meet := make(chan struct{})
	o.Engines[0] = &erring{Engine: o.Engines[0], meet: meet}
	o.Engines[1] = &erring{Engine: o.Engines[1], with: map[int]error{3: broken}, meet: meet}
	s, err := run.Run(t.Context(), o)
	var engineError *run.EngineError
	if !errors.As(err, &engineError) || !errors.Is(err, broken) || err.Error() != "search: pair 2: the cable is cut" || s.Interrupted {
		t.Errorf("%+v, %v", s, err)
	}
	o = options(t, 60, 1, &bytes.Buffer{})
	fault := &engine.Fault{Engine: "F", Reason: engine.Late, Err: errors.New("no answer")}
	all := map[int]error{}
	for id := range 200 {
		all[id] = fault
	}
	o.Engines[0] = &erring{Engine: o.Engines[0], with: all}
	o.Log = filepath.Join(t.TempDir(), "search.log")
	if s, err = run.Run(t.Context(), o); !errors.As(err, &engineError) || !strings.Contains(err.Error(), "nothing was measured: all 60 experiments failed") || engineError.ExitStatus() != 2 {
		t.Errorf("%+v, %v", s, err)
	}
	l, err := run.ReadLog(o.Log)
	if err != nil || len(l.Measurements) != 60 {
		t.Fatalf("%d measurements, %v", len(l.Measurements), err)
	}
	for _, m := range l.Measurements {
		if m.Fault != fault.Error() || m.Measurement.Status != search.SetupFailed {
			t.Fatalf("%+v, want the fault", m)
		}
	}
}

// An error of OnFinding ends a search, and one that is resumed.
func TestErrorsOfOnFinding(t *testing.T) {
	full := errors.New("no space left")
	o := options(t, 60, 1, &bytes.Buffer{})
	o.Log = filepath.Join(t.TempDir(), "search.log")
	o.OnFinding = func(run.Finding) error { return full }
	for range 2 {
		if s, err := run.Run(t.Context(), o); !errors.Is(err, full) || s.Experiments >= 60 {
			t.Errorf("%+v, %v", s, err)
		}
	}
}

// other describes another subsystem.
type other struct {
	engine.Engine
	edit func(*search.Description)
}

func (e other) Describe(ctx context.Context) (search.Description, error) {
	d, err := e.Engine.Describe(ctx)
	e.edit(&d)
	return d, err
}

// failing cannot describe itself.
type failing struct {
	engine.Engine
	asked *int
}

func (e failing) Describe(context.Context) (search.Description, error) {
	*e.asked++
	return search.Description{}, errors.New("no such host")
}

// All pairs of a search are the same subsystem.
func TestPairsOfOtherSubsystems(t *testing.T) {
	for name, edit := range map[string]func(*search.Description){
		"dimensions": func(d *search.Description) { d.Dimensions = d.Dimensions[1:] },
		"counters":   func(d *search.Description) { d.Counters = append([]string{"more"}, d.Counters...) },
	} {
		o := options(t, 5, 2, &bytes.Buffer{})
		o.Engines[1] = other{o.Engines[1], edit}
		if _, err := run.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "pair 2 describes other dimensions or counters than pair 1") {
			t.Errorf("other %s: %v", name, err)
		}
	}
	asked := 0
	o := options(t, 5, 1, &bytes.Buffer{})
	o.Engines[0] = failing{o.Engines[0], &asked}
	if _, err := run.Run(t.Context(), o); err == nil || err.Error() != "search: pair 1: no such host" || asked != 1 {
		t.Errorf("an error that is no fault, after %d tries: %v", asked, err)
	}
	if _, err := run.Run(t.Context(), run.Options{}); err == nil || !strings.Contains(err.Error(), "no engine") {
		t.Errorf("without an engine: %v", err)
	}
}

// Known anomalies of a file that cannot be read name the file.
func TestKnownThatCannotBeRead(t *testing.T) {
	o := options(t, 5, 1, &bytes.Buffer{})
	o.Known, o.KnownName = []byte("x"), "known.jsonl"
	if _, err := run.Run(t.Context(), o); err == nil || !strings.HasPrefix(err.Error(), "known.jsonl: ") {
		t.Errorf("%v", err)
	}
	o.KnownName = ""
	if _, err := run.Run(t.Context(), o); err == nil || strings.HasPrefix(err.Error(), ": ") {
		t.Errorf("%v", err)
	}
}

// Measurements and findings are counted by status and kind.
func TestMetrics(t *testing.T) {
	var findings bytes.Buffer
	o := options(t, 300, 1, &findings)
	reg := prometheus.NewRegistry()
	var err error
	if o.Metrics, err = run.NewMetrics(reg); err != nil {
		t.Fatal(err)
	}
	s := mustRun(t, t.Context(), o)
	count := func(name, label string) int { return int(metric.Sum(t, reg, name, label)) }
	if ok, failed := count("giverny_search_measurements_total", "ok"), count("giverny_search_measurements_total", "setup_failed"); failed != s.Failed || ok+failed != s.Experiments || failed == 0 || count("giverny_search_measurements_total", "not_quiet") != 0 {
		t.Errorf("%d measured, %d failed; want %+v", ok, failed, s)
	}
	kinds := map[string]int{}
	for line := range strings.Lines(findings.String()) {
		kind, _, _ := strings.Cut(strings.TrimPrefix(line, `{"type":"`), `"`)
		if strings.Contains(line, `"mfs":null`) {
			kind = "withdrawn"
		}
		kinds[kind]++
	}
	if kinds["anomaly"] == 0 || kinds["revised"] == 0 {
		t.Errorf("only %v: too little for this test", kinds)
	}
	for _, kind := range []string{"anomaly", "revised", "withdrawn"} {
		if got := count("giverny_search_findings_total", kind); got != kinds[kind] {
			t.Errorf("%s: %d, want %d", kind, got, kinds[kind])
		}
	}
}
