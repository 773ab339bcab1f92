// Package ticket puts the diagnosis of a congested region into words for a ticket. In: what was found of the region (a
// Finding). Out: the reasons, what to do, and the paragraph of both. It decides nothing, and its words are read by
// people only.
//
//	finding.go    what the words depend on
//	reasons.go    the reasons of a verdict
//	action.go     what to do
//	text.go       the paragraph
package ticket

import (
	"time"

	"github.com/giverny/giverny/diagnose/correlation"
	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Finding is what was found of a region.
type Finding struct {
	Graph        *topology.Graph
	OnGrid       bool // its switches form a torus or mesh
	MeasuresLoad bool // the load of links is measured
	Interval     time.Duration
	Region       *schema.Region
	Back         *root.BackPressure // where back pressure begins by the readings, on directed links
	Root         *schema.Root       // where it begins given the cause, as reported; nil: unknown

	Class   schema.CauseClass
	Accused []Job         // the one with the most blame first
	Also    *Failure      // of the link where back pressure begins, although jobs are accused; nil: none
	Blamed  []Failure     // the likeliest first; none if no log explains that a link lost rate
	Lost    schema.LinkID // that link
	Unknown Unknown       // of an unknown cause
}

// Job is an accused job, with the evidence against it.
type Job struct {
	*history.Job
	Files      bool   // its traffic with storage nodes is to blame
	Scattered  bool   // its nodes are not one block, and could be
	Receiver   string // its node at which more arrives than it accepts; empty: none
	Feature    history.Feature
	Value      float64            // of the feature, bytes in an interval; 0: not measured, or none
	Deviations float64            // of the value above the jobs' median
	Stall      correlation.Result // of the feature with the region's stall
	Started    bool               // just before the region
}

func (j *Job) title() string { return schema.JobTitle(j.ID, j.Name) }

// Failure is a failure near the region.
type Failure struct {
	*history.PlacedFailure
	Silent *history.SilentCable // set if only counters show it, no log
	Hops   int
}

// Unknown is what is known where no cause is likely enough.
type Unknown struct {
	Jobs, Failures int          // near the region
	Likeliest      *history.Job // nil: there is no job
	Fits           bool         // that job is likelier than none
	Others         Others       // that speak against it
	Silent         string       // the device at the region's own root, if it gives no readings any more; else empty
}

// Others are hosts that a job no table lists may have, on which listed jobs may be, too.
type Others int

const (
	NoOthers    Others = iota
	Unlisted           // hosts of no listed job have a larger part in the region than the likeliest job
	OnItsHosts         // the hosts of the likeliest job take in more than the traffic table accounts for
	OfOtherJobs        // hosts of other listed jobs send more to the root than the likeliest job's
)
