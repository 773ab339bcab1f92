package diagnose

import (
	"math"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// ownLinks is the share of a region's links without a node of another job at either end.
func (rc *regionCase) ownLinks(own *job) float64 {
	mine := 0
	for _, l := range rc.region.Links {
		from, to := rc.in.graph.Ends(l)
		if !rc.in.hasOthers(from, own) && !rc.in.hasOthers(to, own) {
			mine++
		}
	}
	return float64(mine) / float64(len(rc.region.Links))
}

// hasOthers reports whether a device is a node of another job, or its switch. A requeued job is the same job.
func (in *interval) hasOthers(d topology.DeviceID, own *job) bool {
	return slices.ContainsFunc(in.tenants[d], func(j *job) bool { return j.ID != own.ID })
}

// classOf distinguishes system congestion from intra-application congestion: one job without file traffic, in whose
// region others have little part, and none loses much. It also returns the probability that the class is right if the
// accused are. In the middle either class is right, so the two probabilities may sum to more than 1.
func (d decision) classOf(accused int) (class schema.CauseClass, right float64) {
	c := &d.suspects[0]
	if accused > 1 || c.file || d.endsAtNoJob() || c.away {
		return schema.CauseSystem, 1
	}
	shape := d.othersModel(c)
	part := d.steady().meanPart(c.job, d.othersPart(c))
	odds := shape.slope*math.Log((part+partPrior)/(1-part+partPrior)) + shape.middle
	odds += shape.lost * max(0, min(1, (d.mostLost(c.job)-shape.mayHurt)/surelyHurts))
	if odds < 0 {
		return schema.CauseIntraApplication, logistic(shape.either - odds)
	}
	return schema.CauseSystem, logistic(shape.either + odds)
}

// othersModel is the model for a region of which a suspect is accused.
func (d decision) othersModel(c *suspect) ofOthers {
	switch {
	case d.in.router.Grid == nil:
		return othersOnTrees
	case !d.in.measuresLoad:
		return othersOnGrids
	}
	model := othersOnLoadedGrids // all of a tree's load is the job's, and jobs that cross it are held up
	model.lost *= ramp(c.fit, mayConverge, surelyConverges)
	return model
}

// surelyHurts is by how much more than mayHurt the worst-off other job must lose to say all that a loss can; up to
// mayHurt it says nothing. A loss is what falls below the least mean before, so a job that lost a fifth of what it
// usually moves shows less. On grids back pressure reaches around a region, and more is asked for.
const surelyHurts = .1

func logistic(odds float64) float64 { return 1 / (1 + math.Exp(-odds)) }

// othersPart is the part that jobs other than c have in a region, 0 to 1: by the load there, if that is measured or
// links are directed. On a grid without load readings it is the others' share of what waits: a job's weight is the
// share of its exchange that waits times the geometric mean of its nodes and its traffic, as nodes that send little
// wait with little, but are no less held up.
func (d decision) othersPart(c *suspect) float64 {
	if d.in.router.Grid == nil || d.in.measuresLoad {
		return d.othersLoad(c)
	}
	others, all, usual := 0., 0., d.movedByNode()
	for i := range d.suspects {
		o := &d.suspects[i]
		if o.waitPerByte == 0 {
			continue
		}
		wait := o.waitPerByte * math.Sqrt(o.job.Size()*d.in.movedOr(o.job, usual))
		if all += wait; o.job.ID != c.job.ID {
			others += wait
		}
	}
	if all == 0 {
		return 1 // none waits
	}
	return others / all
}

// movedOr is what a job moved recently, bytes; if that is not known, as much by node as is usual.
func (in *interval) movedOr(j *job, usual float64) float64 {
	if j.Traffic == nil || in.measuresFilesOnly(j) {
		return usual * j.Size()
	}
	moved, _ := in.recentOf(j)
	return moved
}

// movedByNode is the mean traffic per node of the suspects with known traffic, bytes; 1 if there are none.
func (rc *regionCase) movedByNode() float64 {
	moved, nodes := 0., 0.
	for i := range rc.suspects {
		if j := rc.suspects[i].job; j.Traffic != nil && !rc.in.measuresFilesOnly(j) {
			all, _ := rc.in.recentOf(j)
			moved, nodes = moved+all, nodes+j.Size()
		}
	}
	if moved == 0 {
		return 1
	}
	return moved / nodes
}
