package diagnose

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
)

// nearFailure is a failure within the hops of a region: a row of the F table. All are anomalous (Monet,
// section 7).
type nearFailure struct {
	*failure
	silent *silent // set if only counters show it, no log
	hops   int
	// restored: it came back long enough ago for its traffic to be back, too. over: and no load readings show whether with
	// fewer lanes.
	restored, over bool

	score float64
	stall float64 // around what failed, percent
	share float64 // part of the region that leads to it rather than to other failures: share of links on a grid, else stall, percent
}

func (f *nearFailure) report() schema.NearFailure {
	return schema.NearFailure{Time: f.Time, Kind: f.Kind, Device: f.Device, Port: f.Port, Hops: f.hops}
}

// fell reports whether counters leave no doubt that the part is dead.
func (f *nearFailure) fell() bool { return f.silent != nil && f.silent.doubt == 0 }

// nearFailures lists the failures near the region that reach searched last.
func (s *Stage) nearFailures(rc *regionCase, p *root.Pressure) {
	rc.failures = rc.failures[:0]
	for i := range s.history.failures {
		s.addNear(rc, &s.history.failures[i], nil, p)
	}
	for i := range s.history.silent {
		c := &s.history.silent[i]
		switch {
		case c.logged:
		case c.fedBy >= 0: // listed as the cable that fed it
			s.addNear(rc, &c.failure, &s.history.silent[c.fedBy], p)
		default:
			s.addNear(rc, &c.failure, c, p)
		}
	}
	s.findRestored(rc)
	slices.SortStableFunc(rc.failures, func(a, b nearFailure) int {
		switch {
		case b.over && !a.over:
			return -1
		case a.over && !b.over:
			return 1
		}
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.stall, a.stall), cmp.Compare(b.Time, a.Time))
	})
}

// addNear adds a failure to those near a region, if it is near. If only counters show it, c is the silent cable to
// list: f itself, or the one that fed f.
func (s *Stage) addNear(rc *regionCase, f *failure, c *silent, p *root.Pressure) {
	hops := -1
	for _, d := range f.devices {
		if h := s.reach.hopsTo(d); h >= 0 && (hops < 0 || h < hops) {
			hops = h
		}
	}
	if hops < 0 {
		return
	}
	sure := 1.
	if c != nil {
		sure -= c.doubt
	}
	score, moved := s.failureScore(rc, f, hops, sure, p)
	rc.moved = max(rc.moved, moved)
	near := nearFailure{failure: f, silent: c, hops: hops, score: score, stall: s.stallAround(rc, f, p)}
	if c == nil {
		rc.failures = append(rc.failures, near)
		return
	}
	near.failure = &c.failure
	near.score -= silentDoubt * c.doubt
	if i := slices.IndexFunc(rc.failures, func(o nearFailure) bool { return o.silent == c }); i < 0 {
		rc.failures = append(rc.failures, near)
	} else if near.score > rc.failures[i].score {
		rc.failures[i] = near
	}
}

// maxFitted bounds the failures near a region whose links are compared with it.
const maxFitted = 8

// fitFailures finds how much of the region leads to each of the failed links.
func (s *Stage) fitFailures(rc *regionCase, p *root.Pressure) {
	tried := rc.failures[:min(len(rc.failures), maxFitted)]
	if !s.graph.Duplex() {
		for i := range tried {
			tried[i].share = p.EndsAt(tried[i].links)
		}
		return
	}
	if s.router.Grid == nil || len(tried) == 0 {
		return
	}
	var failed, dead []schema.LinkID
	for i := range tried {
		f, first := &tried[i], schema.NoLink
		if f.Port != "" && len(f.links) > 0 {
			first = f.links[0]
		}
		failed = append(failed, first)
		if f.Port != "" && f.broke() {
			dead = append(dead, f.links...)
		}
	}
	for i, share := range s.work.finder.Shares(p, failed, dead, s.work.senders) {
		tried[i].share = share
	}
}

// stallAround is the stall of a failed part: of its own links where measured, with a small part of the stall
// of others at its ends and of its load before.
func (s *Stage) stallAround(rc *regionCase, f *failure, p *root.Pressure) float64 {
	sum := 0.
	for _, l := range f.links {
		sum += .2 * max(0, p.Before(l))
	}
	for i, l := range rc.region.Links {
		from, to := s.graph.Ends(l)
		switch {
		case slices.Contains(f.links, l):
			sum += 3 * rc.weight[i]
		case slices.Contains(f.devices, from), slices.Contains(f.devices, to):
			sum += .1 * rc.weight[i]
		}
	}
	return sum
}
