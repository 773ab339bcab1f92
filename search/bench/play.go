package bench

import (
	"fmt"

	"github.com/giverny/giverny/search"
)

// Subject is a subsystem with known ground truth.
type Subject interface {
	Describe() search.Description
	Measure(search.Workload) search.Measurement
	// Truth returns the MFS of each anomaly as JSON, by number; empty: it has none.
	Truth() map[int]string
	// Anomalies returns the anomalies that a workload triggers, by number.
	Anomalies(search.Workload) []int
}

// Result of one search.
type Result struct {
	Anomalies int             // of the subject
	Found     map[int]int     // anomaly number -> experiment that first showed it
	Seconds   map[int]float64 // the same in the subject's time
	Reported  int             // reports standing at the end
	Repeated  int             // reports of an already reported anomaly
	Spurious  int             // reports whose workload triggers nothing
	Boxless   int             // reports of anomalies without an MFS
	Dims      int             // reports whose MFS has the right dimensions
	Exact     int             // reports with exactly the right MFS
	Wrong     []string        // the other reports, as text
}

// FoundBy is how many anomalies were found by a given experiment.
func (r *Result) FoundBy(experiment int) (n int) {
	for _, at := range r.Found {
		if at <= experiment {
			n++
		}
	}
	return n
}

// FoundIn is how many anomalies were found within a time, in the subject's time.
func (r *Result) FoundIn(seconds float64) (n int) {
	for _, at := range r.Seconds {
		if at <= seconds {
			n++
		}
	}
	return n
}

// All is the experiment by which all anomalies were found; 0: never.
func (r *Result) All() (last int) {
	if len(r.Found) < r.Anomalies {
		return 0
	}
	for _, at := range r.Found {
		last = max(last, at)
	}
	return last
}

// Play runs a search on a subject until its budget is spent. Host pairs take turns.
func Play(subject Subject, cfg search.Config) (*Result, error) {
	d := subject.Describe()
	space, err := search.NewSpace(d.Dimensions)
	if err != nil {
		return nil, err
	}
	s, err := search.New(d, space, cfg)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	for more := true; more; {
		more = false
		for pair := range max(1, cfg.Pairs) {
			w, ok := s.Next(pair)
			if !ok {
				continue
			}
			more = true
			s.Observe(pair, subject.Measure(w))
		}
	}
	if s.Err() != nil {
		return nil, s.Err()
	}
	return score(subject, space, s.Anomalies())
}

// score compares a search's reports with the truth. A report counts for the anomaly that its
// workload triggers; if there are several, for the one with the most similar MFS.
func score(subject Subject, space *search.Space, reports []search.Anomaly) (*Result, error) {
	truth := map[int]*search.MFS{}
	for n, text := range subject.Truth() {
		if text == "" { // not a conjunction
			truth[n] = nil
			continue
		}
		f, err := space.ParseMFS([]byte(text))
		if err != nil {
			return nil, fmt.Errorf("truth of anomaly %d: %w", n, err)
		}
		truth[n] = f
	}
	r := &Result{Anomalies: len(truth), Found: map[int]int{}, Seconds: map[int]float64{}, Reported: len(reports)}
	for _, a := range reports {
		numbers := subject.Anomalies(a.Workload)
		if len(numbers) == 0 {
			r.Spurious++
			continue
		}
		best, like := numbers[0], -1
		for _, n := range numbers {
			if l := alike(a.MFS, truth[n]); l > like {
				best, like = n, l
			}
		}
		if like > 0 {
			r.Dims++
		}
		switch {
		case truth[best] == nil:
			r.Boxless++
		case like > 1:
			r.Exact++
		default:
			r.Wrong = append(r.Wrong, fmt.Sprintf("anomaly %d: %s; reported: %s", best, truth[best], a.MFS))
		}
		at, again := r.Found[best]
		if again {
			r.Repeated++
		}
		if !again || a.Experiment < at {
			r.Found[best], r.Seconds[best] = a.Experiment, a.Seconds
		}
	}
	return r, nil
}

// alike is 2 for equal MFS, 1 for MFS with the same dimensions, otherwise 0.
func alike(a, b *search.MFS) int {
	if b == nil {
		return 0
	}
	switch dims, exact := search.Compare(a, b); {
	case exact:
		return 2
	case dims:
		return 1
	}
	return 0
}
