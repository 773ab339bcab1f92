package diagnose

import (
	"math"
	"slices"

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
// in whose region others have little part, and of which none loses much. It gives the probability that the class is right if the
// accused are. In the middle either is, so that both probabilities together may be more than 1.
func (s *Stage) classOf(rc *regionCase, accused int) (class schema.CauseClass, right float64) {
	c := &rc.jobs[0]
	if accused > 1 || c.file || s.endsAtNoJob(rc) {
		return schema.CauseSystem, 1
	}
	shape := othersOnTrees
	if s.router.Grid != nil {
		shape = othersOnGrids
	}
	part := s.meanPart(rc, c.job, s.othersPart(rc, c))
	odds := shape.slope*math.Log((part+partPrior)/(1-part+partPrior)) + shape.middle
	odds += shape.lost * max(0, min(1, (s.mostLost(rc, c.job)-smallLoss)/(clearLoss-smallLoss)))
	if odds < 0 {
		return schema.CauseIntraApplication, logistic(shape.either - odds)
	}
	return schema.CauseSystem, logistic(shape.either + odds)
}

// ofOthers says how probable each class is by the part that others have in a region: the log odds that system rather than
// intra_application is right are linear in the part's, and either is right with the log odds of both being equal. That another job
// lost much with the onset adds lost to them: it is held up as a whole, however little of it waits on the region's links. That none
// did says nothing, as senders that do not wait for each other lose only what their queues do not take.
type ofOthers struct{ slope, middle, either, lost float64 }

// They were fitted on 279 incidents of four simulators, on grids on 432 of three, what losses say on 84 of three
// (docs/explanation/diagnosis-measured.md);
// partPrior keeps a part of none, or of all, from being certain.
var (
	othersOnTrees = ofOthers{slope: 9, middle: 6.4, either: 2.7, lost: 10}
	othersOnGrids = ofOthers{slope: 2.8, middle: 1, either: 1.3, lost: 4.4}
)

const partPrior = .3

// Of what the worst-off other job moved before, smallLoss says nothing and clearLoss all that a loss can say.
const smallLoss, clearLoss = .2, .3

func logistic(odds float64) float64 { return 1 / (1 + math.Exp(-odds)) }

// othersPart is the part that others than a job have in a region, 0 to 1: of the nodes that wait, those that are not the job's. On a
// grid back pressure reaches links that the job's exchange does not use, so that this is all that is asked; elsewhere it is the mean of
// this and of the share of the region's stall off these links, which shows who waits but is in no table.
//
// A job counts by the share of its exchange that waits and by its nodes; on a grid by the geometric mean of its nodes and of what they
// move, as nodes that send little wait with little, but are no less held up.
func (s *Stage) othersPart(rc *regionCase, c *suspect) float64 {
	if s.router.Grid == nil {
		return (rc.othersShare(c.job, (*job).nodes) + 1 - c.cross) / 2
	}
	usual := s.movedByNode(rc)
	return rc.othersShare(c.job, func(j *job) float64 {
		moved, _ := s.lately(j)
		if j.traffic == nil {
			moved = usual * j.nodes()
		}
		return math.Sqrt(j.nodes() * moved)
	})
}

// movedByNode is what a node of the suspects whose traffic is known moves, bytes; 1 where none is.
func (s *Stage) movedByNode(rc *regionCase) float64 {
	moved, nodes := 0., 0.
	for i := range rc.jobs {
		if j := rc.jobs[i].job; j.traffic != nil {
			all, _ := s.lately(j)
			moved, nodes = moved+all, nodes+j.nodes()
		}
	}
	if moved == 0 {
		return 1
	}
	return moved / nodes
}

// othersShare is, of the jobs whose exchanges wait for a region, the share that is not one job's, each by what it weighs and the share of
// its exchange that waits; 1 where none does.
func (rc *regionCase) othersShare(own *job, weight func(*job) float64) float64 {
	others, all := 0., 0.
	for i := range rc.jobs {
		c := &rc.jobs[i]
		if c.waits == 0 {
			continue
		}
		wait := c.waits * weight(c.job)
		if all += wait; c.job.ID != own.ID {
			others += wait
		}
	}
	if all == 0 {
		return 1
	}
	return others / all
}
