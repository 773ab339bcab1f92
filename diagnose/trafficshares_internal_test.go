package diagnose

import (
	"math"
	"testing"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// TestBeforeAJobBegan: a job's traffic before an onset is a mean over the slots in which it ran, given with the share
// of these slots.
func TestBeforeAJobBegan(t *testing.T) {
	s := &Stage{interval: interval{cfg: DefaultConfig(), history: remembersAt(roottest.Graph(t, "torus:4x4"), history.Clock{Duration: 10, Now: 9})}}
	j := &job{Job: &history.Job{Job: schema.Job{Start: 50}, Traffic: history.NewTraffic(20, 9)}}
	for slot := int64(5); slot < 9; slot++ {
		j.Traffic.Set(history.RDMAWrite, slot, 8)
	}
	if m := s.movedIn(j, []int64{8, 7, 6, 5, 4, 3, 2, 1}); m != (volume{all: 8, ran: .5}) {
		t.Errorf("moved %+v", m)
	}
}

// TestIncompleteRowsSayTooLittle: a row without the feature that has most of a job's traffic is no row of little
// traffic.
func TestIncompleteRowsSayTooLittle(t *testing.T) {
	s := &Stage{interval: interval{cfg: DefaultConfig(), history: remembersAt(roottest.Graph(t, "torus:4x4"), history.Clock{Duration: 10, Now: 9})}}
	j := &job{Job: &history.Job{Traffic: history.NewTraffic(20, 9)}}
	for slot := range int64(9) {
		if j.Traffic.Set(history.RDMARead, slot, 1); slot%2 == 0 {
			j.Traffic.Set(history.RDMAWrite, slot, 8)
		}
	}
	if m := s.movedIn(j, []int64{8, 7, 6, 5}); m != (volume{all: 8, ran: 1}) {
		t.Errorf("moved %+v", m)
	}
}

// TestGrowthBeyondVariation: without load readings, the growth of an exchange counts as far as it exceeds what traffic
// varies by; that of file traffic, and what load readings show, counts in full.
func TestGrowthBeyondVariation(t *testing.T) {
	for _, c := range []struct {
		grew        float64
		file, loads bool
		want        float64 // share of jobGrowth
	}{
		{.1, false, false, 0},
		{.15 + .35/2, false, false, .5},
		{.6, false, false, 1},
		{.1, true, false, 1},
		{.1, false, true, 1},
	} {
		rc := &regionCase{in: &interval{measuresLoad: c.loads}}
		if got := rc.growthScore(&suspect{growth: 1, grew: c.grew, file: c.file}) / jobGrowth; math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%+v: %.2f of the score", c, got)
		}
	}
}
