package search_test

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/giverny/giverny/search"
	"github.com/giverny/giverny/search/bench"
	"github.com/giverny/giverny/search/simulated"
)

var healthy = search.Measurement{Status: search.OK, Seconds: 1, Directions: []search.Direction{{Gbps: 200, Mpps: 25, SizeBytes: 1000}}}

func engine(t testing.TB, seed uint64, flaky simulated.Flakiness) *simulated.Engine {
	t.Helper()
	e, err := simulated.New("F", seed, flaky)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func searchOf(t testing.TB, e bench.Subject, cfg search.Config) (*search.Space, *search.Search) {
	t.Helper()
	d := e.Describe()
	space, err := search.NewSpace(d.Dimensions)
	if err != nil {
		t.Fatal(err)
	}
	s, err := search.New(d, space, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return space, s
}

// step is one measurement of a log.
type step struct {
	pair     int
	workload string
	result   search.Measurement
	findings string
}

// run plays a search to its end and returns its log.
func run(t testing.TB, e bench.Subject, s *search.Search, pairs int) (log []step) {
	t.Helper()
	for more := true; more; {
		more = false
		for pair := range pairs {
			w, ok := s.Next(pair)
			if !ok {
				continue
			}
			more = true
			m := e.Measure(w)
			log = append(log, observe(t, s, pair, w, m))
		}
	}
	return log
}

func observe(t testing.TB, s *search.Search, pair int, w search.Workload, m search.Measurement) step {
	t.Helper()
	text, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	found, err := json.Marshal(s.Observe(pair, m))
	if err != nil {
		t.Fatal(err)
	}
	return step{pair, string(text), m, string(found)}
}

// TestConformance applies to every algorithm, with one host pair and several, and
// engines that fail.
func TestConformance(t *testing.T) {
	for _, algorithm := range search.Algorithms() {
		for _, pairs := range []int{1, 3} {
			t.Run(string(algorithm), func(t *testing.T) {
				const budget = 250
				flaky := simulated.Flakiness{SetupFailed: .03, MissedSymptom: .1}
				cfg := search.Config{Algorithm: algorithm, Budget: budget, Pairs: pairs, Seed: 7}
				e := engine(t, 7, flaky)
				space, s := searchOf(t, e, cfg)
				log := run(t, e, s, pairs)
				checkLog(t, space, s, log, budget)
				_, again := searchOf(t, e, cfg)
				for i, l := range log { // the same measurements lead to the same workloads
					w, ok := again.Next(l.pair)
					if !ok {
						t.Fatalf("step %d: nothing to measure", i)
					}
					if got := observe(t, again, l.pair, w, l.result); got.workload != l.workload || got.findings != l.findings {
						t.Fatalf("step %d: asked %s, found %s; before %s, %s", i, got.workload, got.findings, l.workload, l.findings)
					}
				}
			})
		}
	}
}

func checkLog(t *testing.T, space *search.Space, s *search.Search, log []step, budget int) {
	t.Helper()
	counted := []step{{}}
	for _, l := range log {
		if l.result.Status != search.Invalid {
			counted = append(counted, l)
		}
	}
	if sum := s.Summary(); sum.Experiments != budget || len(counted) != budget+1 || sum.Anomalies == 0 {
		t.Fatalf("%d measurements, summary %+v: want %d, and anomalies", len(counted)-1, sum, budget)
	}
	var seen []int
	for _, l := range log {
		var lines []struct {
			Type       string
			Experiment int
			Of         int
			Symptom    search.Symptom
			Workload   json.RawMessage
			MFS        json.RawMessage
		}
		if err := json.Unmarshal([]byte(l.findings), &lines); err != nil {
			t.Fatal(err)
		}
		for _, f := range lines {
			of := f.Experiment
			if f.Type == "revised" {
				of = f.Of
			} else if slices.Contains(seen, of) {
				t.Errorf("two anomalies of experiment %d", of)
			}
			seen = append(seen, of)
			if string(f.MFS) == "null" {
				continue
			}
			mfs, err := space.ParseMFS(f.MFS)
			if err != nil {
				t.Fatal(err)
			}
			w, err := space.ParseWorkload([]byte(counted[of].workload))
			if err != nil {
				t.Fatal(err)
			}
			if !mfs.Covers(w) || f.Type == "anomaly" && !sameJSON(t, f.Workload, counted[of].workload) {
				t.Errorf("%s of experiment %d: workload %s, measured %s, mfs %s", f.Type, of, f.Workload, counted[of].workload, f.MFS)
			}
			if d := (&simulatedDescription); d.Judge(&counted[of].result) == search.Healthy {
				t.Errorf("experiment %d was healthy", of)
			}
		}
	}
}

var simulatedDescription = search.Description{LineRateGbps: 200, MessageRateMpps: 200}

func sameJSON(t *testing.T, a json.RawMessage, b string) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal(a, &x); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(b), &y); err != nil {
		t.Fatal(err)
	}
	p, _ := json.Marshal(x)
	q, _ := json.Marshal(y)
	return string(p) == string(q)
}

func TestNextIsTheSameUntilObserved(t *testing.T) {
	_, s := searchOf(t, engine(t, 1, simulated.Flakiness{}), search.Config{Algorithm: search.Lift, Budget: 1, Pairs: 2})
	a, _ := s.Next(0)
	b, ok := s.Next(0)
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	if !ok || string(x) != string(y) {
		t.Errorf("%s, then %s", x, y)
	}
	if _, ok := s.Next(1); ok {
		t.Error("the budget of one experiment is handed out twice")
	}
	s.Observe(0, healthy)
	if _, ok := s.Next(0); ok || s.Summary().Experiments != 1 {
		t.Error("the search goes on after its budget")
	}
}

func TestFailuresAreNoVerdict(t *testing.T) {
	for _, m := range []search.Measurement{
		{Status: search.SetupFailed}, {Status: search.NotQuiet, TxPausePercent: []float64{50}},
		{Status: "odd"}, {Status: search.OK}, // impossible measurements count as failed
		{Status: search.OK, Directions: []search.Direction{{Gbps: math.NaN()}}},
	} {
		_, s := searchOf(t, engine(t, 1, simulated.Flakiness{}), search.Config{Algorithm: search.Lift, Budget: 20})
		for {
			if _, ok := s.Next(0); !ok {
				break
			}
			if found := s.Observe(0, m); len(found) > 0 {
				t.Errorf("%+v: found %v", m, found)
			}
		}
		if sum := s.Summary(); sum.Experiments != 20 || sum.Failed != 20 || s.Err() != nil {
			t.Errorf("%+v: %+v, %v", m, sum, s.Err())
		}
	}
}

func TestInvalidEverywhereEnds(t *testing.T) {
	_, s := searchOf(t, engine(t, 1, simulated.Flakiness{}), search.Config{Algorithm: search.Lift, Budget: 20})
	for range 10_000 {
		if _, ok := s.Next(0); !ok {
			break
		}
		s.Observe(0, search.Measurement{Status: search.Invalid})
	}
	if s.Err() == nil || s.Summary().Experiments != 0 {
		t.Errorf("%v after %d experiments", s.Err(), s.Summary().Experiments)
	}
}

func TestKnownIsNotSearched(t *testing.T) {
	e := engine(t, 3, simulated.Flakiness{})
	space, err := search.NewSpace(e.Describe().Dimensions)
	if err != nil {
		t.Fatal(err)
	}
	loopback, err := space.ParseMFS([]byte(e.Truth()[13]))
	if err != nil {
		t.Fatal(err)
	}
	s, err := search.New(e.Describe(), space, search.Config{Algorithm: search.Lift, Budget: 200, Seed: 3, Known: []*search.MFS{loopback}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for {
		w, ok := s.Next(0)
		if !ok {
			break
		}
		if loopback.Covers(w) {
			t.Fatal("a known anomaly is measured again")
		}
		s.Observe(0, e.Measure(w))
	}
}

func TestConfigIsChecked(t *testing.T) {
	e := engine(t, 1, simulated.Flakiness{})
	space, err := search.NewSpace(e.Describe().Dimensions)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		d   search.Description
		cfg search.Config
	}{
		{e.Describe(), search.Config{Algorithm: "best", Budget: 1}},
		{e.Describe(), search.Config{Algorithm: search.Lift}},
		{e.Describe(), search.Config{Algorithm: search.Lift, Budget: 1, Pairs: -1}},
		{search.Description{MessageRateMpps: 1}, search.Config{Algorithm: search.Lift, Budget: 1}},
		{search.Description{LineRateGbps: 1, MessageRateMpps: 1, Counters: []string{"a", "a"}}, search.Config{Algorithm: search.Lift, Budget: 1}},
	} {
		if _, err := search.New(c.d, space, c.cfg); err == nil {
			t.Errorf("%+v is no error", c.cfg)
		}
	}
}

// BenchmarkObserve is the cost of an experiment to the search after 2,000 others.
func BenchmarkObserve(b *testing.B) {
	for _, subject := range []string{"F", "60 dimensions"} {
		b.Run(subject, func(b *testing.B) {
			e := bench.Subject(engine(b, 1, simulated.Flakiness{}))
			if subject != "F" {
				e = bench.GenerateWith(1, 60)
			}
			_, s := searchOf(b, e, search.Config{Algorithm: search.Lift, Budget: 2000 + 1e6})
			for range 2000 {
				w, _ := s.Next(0)
				s.Observe(0, e.Measure(w))
			}
			b.ResetTimer()
			for range b.N {
				w, _ := s.Next(0)
				b.StopTimer()
				m := e.Measure(w)
				b.StartTimer()
				s.Observe(0, m)
			}
		})
	}
}
