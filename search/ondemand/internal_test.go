package ondemand

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/search"
)

// The final answer has the standing findings, and those withdrawn since the last report once; of too many it keeps the
// newest, and says how many it left out.
func TestFinalAnswer(t *testing.T) {
	experiments := func(n *news) (list []int, dropped int) {
		text := n.last(&search.Summary{Experiments: 9})
		if len(text) > command.MaxOutputBytes {
			t.Errorf("%d bytes", len(text))
		}
		var r schema.SearchReport
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatal(err)
		}
		for _, f := range r.Findings {
			list = append(list, f.Experiment)
		}
		return list, r.Dropped
	}
	n := newNews(schema.SearchReport{}, func(json.RawMessage) {}, func() float64 { return 0 }, time.Hour)
	standing := json.RawMessage(`[]`)
	n.add(schema.SearchFinding{Experiment: 3, MFS: standing})
	n.add(schema.SearchFinding{Experiment: 1, MFS: standing})
	n.now()
	n.add(schema.SearchFinding{Experiment: 2, MFS: standing})
	n.add(schema.SearchFinding{Experiment: 3, MFS: json.RawMessage(`null`)})
	if list, dropped := experiments(n); len(list) != 3 || list[0] != 1 || list[1] != 2 || list[2] != 3 || dropped != 0 {
		t.Errorf("experiments %v, %d dropped", list, dropped)
	}
	for i := range 4 {
		n.add(schema.SearchFinding{Experiment: 10 + i, MFS: json.RawMessage(`"` + strings.Repeat("x", command.MaxOutputBytes/3) + `"`)})
	}
	if list, dropped := experiments(n); len(list)+dropped != 7 || list[len(list)-1] != 3 || list[0] < 12 {
		t.Errorf("experiments %v, %d dropped", list, dropped)
	}
}

type readings []uint64

func (r *readings) DataBytes(string) (uint64, error) {
	if len(*r) == 0 {
		return 0, errors.New("no reading")
	}
	now := (*r)[0]
	*r = (*r)[1:]
	return now, nil
}

// Counters that start again from zero say nothing of others' traffic: the next window decides. If they never stop
// decreasing, the search ends.
func TestCountersStartAgain(t *testing.T) {
	cfg := DefaultConfig()
	cfg.WatchFor = time.Millisecond
	w := &watch{cfg: &cfg, adapter: "mlx5_0"}
	for name, test := range map[string]struct {
		readings readings
		want     string // in the error; empty: none
	}{
		"then quiet":        {readings{1 << 40, 1 << 20, 1 << 20}, ""},
		"then others":       {readings{1 << 40, 1 << 20, 1 << 40, 0, 1 << 40}, "others move"},
		"always":            {readings{5, 4, 3, 2, 1}, "they decreased in 4 consecutive windows"},
		"then not readable": {readings{5, 4}, "cannot be read"},
	} {
		var stopped error
		w.counters, w.last, w.stop = &test.readings, time.Time{}, func(err error) { stopped = err }
		err := w.before(t.Context())
		if err != stopped || (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) || len(test.readings) > 0 {
			t.Errorf("%s: %v, stopped with %v, %d readings left, want %q", name, err, stopped, len(test.readings), test.want)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	w.counters, w.last = &readings{0}, time.Time{}
	if err := w.before(ended); err != context.Canceled {
		t.Errorf("%v, want cancelled within the first window", err)
	}
}

// Without counters, without a limit and right after a check, nothing is read.
func TestWhenOthersAreNotWatched(t *testing.T) {
	unlimited, limited := DefaultConfig(), DefaultConfig()
	unlimited.OthersGbps = 0
	for name, w := range map[string]*watch{
		"no counters":  {cfg: &limited},
		"no limit":     {cfg: &unlimited, counters: &readings{}},
		"just checked": {cfg: &limited, counters: &readings{}, last: time.Now()},
	} {
		if err := w.before(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
