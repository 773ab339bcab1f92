package diagnose

import (
	"math"
	"slices"

	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// ground is the share of a region's links that have no node of another job than one at either end.
func (rc *regionCase) ground(s *Stage, own *job) float64 {
	mine := 0
	for _, l := range rc.region.Links {
		from, to := s.graph.Ends(l)
		if !s.strangers(from, own) && !s.strangers(to, own) {
			mine++
		}
	}
	return float64(mine) / float64(len(rc.region.Links))
}

// strangers reports whether a device is a node of another job, or the switch of one. A job that was requeued is itself.
func (s *Stage) strangers(d topology.DeviceID, own *job) bool {
	return slices.ContainsFunc(s.work.tenants[d], func(j *job) bool { return j.ID != own.ID })
}

// classOf distinguishes load on the system from intra-application congestion, one job that does not talk to the file system and
// in whose region others have little part, and gives the probability that the class is right if the accused are. In the middle
// either is, so that both probabilities together may be more than 1.
func (s *Stage) classOf(rc *regionCase, accused int, p *root.Pressure) (class schema.CauseClass, right float64) {
	c := &rc.jobs[0]
	if accused > 1 || c.file {
		return schema.CauseSystem, 1
	}
	shape := othersOnTrees
	if s.router.Grid != nil {
		shape = othersOnGrids
	}
	part := s.meanPart(rc, c.job, s.othersPart(rc, c, p))
	odds := shape.slope*math.Log((part+partPrior)/(1-part+partPrior)) + shape.middle
	if odds < 0 {
		return schema.CauseIntraApplication, logistic(shape.either - odds)
	}
	return schema.CauseSystem, logistic(shape.either + odds)
}

// ofOthers says how probable each class is by the part that others have in a region: the log odds that system rather than
// intra_application is right are linear in the part's, and either is right with the log odds of both being equal.
type ofOthers struct{ slope, middle, either float64 }

// They were fitted on 279 incidents of four simulators (docs/explanation/diagnosis-measured.md); partPrior keeps a part of
// none, or of all, from being certain.
var (
	othersOnTrees = ofOthers{slope: 2.1, middle: .25, either: 1.6}
	othersOnGrids = ofOthers{slope: 2.9, middle: 1.8, either: 1}
)

const partPrior = .3

// waitingWeight is what the share of others among the nodes that wait counts beside the part they have where nodes and loads
// are seen.
const waitingWeight = .5

func logistic(odds float64) float64 { return 1 / (1 + math.Exp(-odds)) }

// othersPart is the part that others than a job have in a region, 0 to 1. On a grid back pressure reaches links that the job's
// exchange does not use, so that who waits there says most. Elsewhere it is the most of five shares: of the links, with a node of
// others at an end; of the stall, off the job's exchange; of what the links carry, not the job's; the same of the root; and of
// what was added to the job's traffic, exchanged with others. Who waits adds to it.
func (s *Stage) othersPart(rc *regionCase, c *suspect, p *root.Pressure) float64 {
	if s.router.Grid != nil {
		return rc.othersShare(c.job)
	}
	part := max(1-min(c.cross, rc.ground(s, c.job)), s.othersAtRoot(rc, c.job), s.external(c.job, p))
	if c.burden > 0 {
		part = max(part, 1-c.burden)
	}
	return min(1, part+waitingWeight*rc.othersShare(c.job))
}

// othersAtRoot is, of what jobs put on the root of a region by their exchanges, the share that is not a job's; 0 where the job has
// none of it.
func (s *Stage) othersAtRoot(rc *regionCase, own *job) float64 {
	if rc.fullest == schema.NoLink {
		return 0
	}
	mine, all := 0., 0.
	for _, j := range s.work.running {
		moved, _ := s.lately(j)
		load := moved * s.routesOf(j).On(rc.fullest)
		if all += load; j.ID == own.ID {
			mine += load
		}
	}
	if mine == 0 {
		return 0
	}
	return 1 - mine/all
}

// othersShare is, of the nodes that wait for a region in their exchanges, the share that is not a job's; 1 where none does. A
// node counts by its wait, and by the square of it where something always waits, as for a full link: what stalls there stalls for
// all of the time in which it does not send, and who sends little over it is hardly slower for that.
func (rc *regionCase) othersShare(own *job) float64 {
	others, all := 0., 0.
	for i := range rc.jobs {
		c := &rc.jobs[i]
		wait := c.waits * float64(len(c.job.devices))
		if !rc.drain.Idle || rc.full != schema.NoLink {
			wait *= c.waits
		}
		if all += wait; c.job.ID != own.ID {
			others += wait
		}
	}
	if all == 0 {
		return 1
	}
	return others / all
}
