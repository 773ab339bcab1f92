package replay

import (
	"math"

	"github.com/giverny/giverny/diagnose/bench"
	"github.com/giverny/giverny/simulate/routing"
)

// draft is an incident under construction.
type draft struct {
	*site
	in           *Incident
	scene        *scene
	channels     *routing.Channels
	boost, quiet float64
	onset, end   int // halves
	groups       int // of faults
}

// stage adds what congests the fabric.
func (d *draft) stage(kind bench.Kind) {
	switch kind {
	case Incast, Gather:
		d.incast(kind == Gather)
	case Storage:
		d.files()
	case Contention:
		d.contention()
	case Crossing:
		d.crossing()
	case OwnPattern:
		d.ownPattern()
	case LinkFails, SwitchFails, Flaps, SlowLink, SlowHost:
		d.part(kind)
	case Missing:
		[]func() int{func() int { return d.incast(false) }, func() int { return d.incast(true) }, d.files, d.contention, d.crossing}[d.rng.IntN(5)]()
		d.scene.jobs[len(d.scene.jobs)-1].unlisted = true
	case MissingShared:
		j := d.incast(d.chance(.5))
		d.scene.jobs[j].unlisted = true
		hosts := d.scene.jobs[j].hosts
		shared := hosts[:max(2, len(hosts)*d.between(3, 10)/10)]
		d.add("solver", shared, -d.between(10, 900), d.steady(halo(shared), .1, .35))
	case ReadsFirst:
		d.readsFirst()
	case Busy:
		d.busy()
	}
}

// add adds a job that runs to the end of the scene, and returns its index; -1 without hosts.
func (d *draft) add(name string, hosts []int, start int, traffic ...traffic) int {
	if len(hosts) == 0 { // the fabric is full
		return -1
	}
	kept := traffic[:0:0]
	for _, t := range traffic {
		if len(t.pairs) > 0 {
			kept = append(kept, t)
		}
	}
	users := []string{"ada", "boole", "curie", "dirac", "euler", "fermi", "gauss", "hertz"}
	j := job{id: d.id(), name: name, user: users[d.rng.IntN(len(users))], hosts: hosts, start: start, end: d.scene.length, traffic: kept}
	if d.ports.many > 2 && d.chance(.2) {
		j.hasRail, j.rail = true, d.rng.IntN(d.ports.many)
	}
	d.scene.jobs = append(d.scene.jobs, j)
	return len(d.scene.jobs) - 1
}

// burst is an exchange that causes the incident.
func (d *draft) burst(pairs [][2]int, cells int, low, high float64) traffic {
	return d.onsetOf(traffic{pairs: pairs, cells: cells, duty: math.Min(.98, d.uniform(low, high)*d.boost), pulls: d.chance(.2)})
}

// onsetOf sets when a cause begins, in a step or over minutes.
func (d *draft) onsetOf(t traffic) traffic {
	t.from, t.to, t.rounds = d.onset, d.end, roundsOf(t.pairs)
	if d.chance(.35) {
		t.low, t.risesAt, t.rises = d.uniform(.3, .6), 2, halves*d.between(1, 4)
	}
	return t
}

// steady is an exchange throughout the scene.
func (d *draft) steady(pairs [][2]int, low, high float64) traffic {
	return traffic{pairs: pairs, rounds: roundsOf(pairs), cells: d.between(1, 3), duty: d.uniform(low, high) * d.quiet, from: math.MinInt, to: d.scene.length, pulls: d.chance(.15)}
}

// roundsOf is into how many rounds an exchange is divided: a rank with many peers sends to four of them at a time, and periods stay
// short against a half-minute.
func roundsOf(pairs [][2]int) int {
	out := map[int]int{}
	most := 0
	for _, p := range pairs {
		out[p[0]]++
		most = max(most, out[p[0]])
	}
	return max(1, most/4)
}

// startOf is when a culprit's job starts: with the incident, or before.
func (d *draft) startOf() int {
	if d.chance(.6) {
		return d.onset
	}
	return -d.between(10, 900)
}
