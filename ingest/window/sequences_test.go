package window_test

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/giverny/giverny/ingest/window"
	"github.com/giverny/giverny/schema"
)

func numbered(source, agent string, number uint64, nanos int64) *schema.CounterBatch {
	return &schema.CounterBatch{Source: source, Agent: agent, Sequence: number, TimeNanos: []int64{nanos - 1, nanos}}
}

func TestSequences(t *testing.T) {
	type step = window.SequenceStep
	type arrival struct {
		number uint64
		nanos  int64
		want   step
	}
	for _, c := range []struct {
		name     string
		arrivals []arrival
	}{
		{"in order", []arrival{{1, 10, step{}}, {2, 20, step{}}, {3, 30, step{}}}},
		{"begun in the middle of the log", []arrival{{700, 10, step{}}, {701, 20, step{}}}},
		{"one lost", []arrival{{1, 10, step{}}, {3, 30, step{Missing: 1}}, {4, 40, step{}}}},
		{"several lost", []arrival{{5, 10, step{}}, {9, 30, step{Missing: 3}}}},
		{"one twice", []arrival{{1, 10, step{}}, {2, 20, step{}}, {2, 20, step{Redelivered: true}}, {3, 30, step{}}}},
		{"the log from its start again", []arrival{{1, 10, step{}}, {2, 20, step{}}, {1, 10, step{Redelivered: true}},
			{2, 20, step{Redelivered: true}}, {3, 30, step{}}}},
		{"the agent starts again", []arrival{{1, 10, step{}}, {2, 20, step{}}, {1, 30, step{Restarted: true}}, {2, 40, step{}}}},
		{"it starts again with its clock set back", []arrival{{1, 10, step{}}, {2, 20, step{}}, {1, 15, step{Restarted: true}}, {2, 16, step{}}}},
		{"it starts again and its first batch is lost", []arrival{{1, 10, step{}}, {7, 20, step{Missing: 5}}, {2, 30, step{Missing: 1, Restarted: true}}, {3, 40, step{}}}},
		{"two processes under one name", []arrival{{501, 60, step{}}, {20, 65, step{Missing: 19, Restarted: true}}, {502, 120, step{}}, {21, 125, step{}},
			{503, 180, step{Doubled: true}}, {22, 185, step{Doubled: true}}, {23, 245, step{}}, {504, 240, step{Doubled: true}}, {506, 300, step{Missing: 1}}, {24, 305, step{Doubled: true}}}},
		{"one of two was started later and has a clock that is behind", []arrival{{501, 60, step{}}, {20, 55, step{Redelivered: true}}, {502, 120, step{}},
			{21, 115, step{}}, {503, 180, step{}}, {22, 175, step{Doubled: true}}, {504, 240, step{Doubled: true}}, {22, 175, step{Redelivered: true}}}},
		{"a gap after a restart that ends where the life before would have gone on", []arrival{{1, 10, step{}}, {2, 20, step{}}, {1, 30, step{Restarted: true}}, {3, 50, step{}}, {4, 60, step{}}, {5, 70, step{}}}},
		{"unnumbered", []arrival{{0, 10, step{}}, {0, 20, step{Restarted: true}}}},
		{"a number that cannot be", []arrival{{1, 10, step{}}, {1 << 63, 20, step{Restarted: true}}, {2, 30, step{}}}},
		{"the last number there is", []arrival{{1, 10, step{}}, {1<<64 - 1, 20, step{Restarted: true}}, {0, 30, step{}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s window.Sequences
			for i, a := range c.arrivals {
				if got := s.Add(numbered("s", "a", a.number, a.nanos)); got != a.want {
					t.Errorf("arrival %d, number %d: %+v, want %+v", i, a.number, got, a.want)
				}
			}
		})
	}
}

// The counts match those of a source that knows what it lost, sent twice and when it was restarted.
func TestSequencesCountWhatHappened(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s window.Sequences
		var want, got struct{ missing, restarts, redeliveries uint64 }
		type agent struct {
			number, lost uint64
			left         uint64                 // the next number of its life before
			sent         []*schema.CounterBatch // of this numbering
		}
		agents := map[string]*agent{"a": {}, "b": {}}
		clock := int64(0)
		add := func(b *schema.CounterBatch) {
			step := s.Add(b)
			got.missing += step.Missing
			if step.Restarted {
				got.restarts++
			}
			if step.Redelivered {
				got.redeliveries++
			}
		}
		restarted := map[string]bool{}
		seen := map[string]bool{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			name := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "agent")
			a := agents[name]
			clock++
			switch rapid.SampledFrom([]string{"send", "send", "send", "lose", "again", "restart"}).Draw(t, "what") {
			case "send":
				a.number++
				b := numbered("s", name, a.number, clock)
				if restarted[name] {
					want.restarts++
				}
				if seen[name] {
					want.missing += a.lost
				}
				a.lost, restarted[name], seen[name] = 0, false, true
				a.sent = append(a.sent, b)
				add(b)
			case "lose":
				a.number++
				a.lost++
				if a.number+1 == a.left { // the next one may look like the life before; the table has that case
					a.number++
					a.lost++
				}
			case "again":
				if len(a.sent) > 0 && !restarted[name] {
					from := rapid.IntRange(0, len(a.sent)-1).Draw(t, "from")
					for _, b := range a.sent[from:] {
						want.redeliveries++
						add(b)
					}
				}
			case "restart":
				if len(a.sent) > 0 { // otherwise it cannot be detected
					*a, restarted[name] = agent{left: a.sent[len(a.sent)-1].Sequence + 1}, true
				}
			}
			// A loss right after a restart may look like a gap of the old numbering; the table has that case.
			if restarted[name] && a.lost > 0 {
				a.number, a.lost = 0, 0
			}
		}
		if got != want {
			t.Fatalf("counted %+v, want %+v", got, want)
		}
	})
}

// Forged names take bounded memory.
func TestSequencesAreBounded(t *testing.T) {
	const bound = 1 << 17
	var s window.Sequences
	followed := 0
	for _, number := range []uint64{1, 3} {
		for i := range bound + 1000 {
			followed += int(s.Add(&schema.CounterBatch{Source: "s", Agent: strconv.Itoa(i), Sequence: number}).Missing)
		}
	}
	if followed != bound {
		t.Errorf("%d agents are followed, want %d", followed, bound)
	}
	known := numbered("s", "7", 4, 1)
	if allocs := testing.AllocsPerRun(100, func() { s.Add(known) }); allocs > 0 {
		t.Errorf("%v allocations for a batch of a known agent", allocs)
	}
}
