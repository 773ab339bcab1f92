package diagnose_test

import (
	"math"
	"slices"
	"testing"

	"github.com/giverny/giverny/schema"
)

// A victim's slowdown stays what was measured at the onset after that has left the window, and is the same where the
// same link fails again after a pause in which the job moved as much as before; then it moved less before the second
// onset only for the first.
func TestASlowdownThatLasts(t *testing.T) {
	for _, c := range []struct {
		name        string
		pause       int
		between     float64 // what job 8 moves in the pause
		least, most float64 // slowdown in the end
	}{
		{"congestion that lasts", 0, 0, 3, 3},
		{"again", 12, 3 * usual, 3, 3},
		{"again, of a job that moves less by itself", 12, usual, 1, 1.25},
		{"again, after the job moved on while the region faded", 13, 3 * usual, 3, 3},
	} {
		p := newPlant(t, "torus:8x8x8")
		one := neighbours(p)
		p.job("8", "0,0,1", "2,0,1") // within the first
		p.moved["8"] = 3 * usual
		p.step(25)
		held := func(times int) schema.Diagnosis {
			p.moved["1"], p.moved["8"] = 40*usual, usual
			p.congest(50, p.within(one)...)
			return p.step(times)[0]
		}
		d := held(3)
		if c.pause == 13 {
			p.regions = nil
			p.moved["1"], p.moved["8"] = usual, 3*usual
			p.congest(7, p.within(one)...)
			p.step(2)
		}
		if c.pause == 0 {
			d = p.step(70)[0]
		} else {
			p.regions = nil
			clear(p.stall)
			p.moved["1"], p.moved["8"] = usual, c.between
			p.step(c.pause)
			d = held(3)
		}
		i := slices.IndexFunc(d.Victims, func(v schema.VictimJob) bool { return v.JobID == "8" })
		if i < 0 || math.Abs(d.Victims[i].Slowdown[0]-c.least) > .1*c.least || math.Abs(d.Victims[i].Slowdown[1]-c.most) > .1*c.most {
			t.Errorf("%s: %+v, want job 8 slower by %g to %g", c.name, d.Victims, c.least, c.most)
		}
	}
}
