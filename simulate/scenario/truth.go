package scenario

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/schema"
)

// Class is a kind of cause (Monet, section 5.4).
type Class string

// Classes of causes.
const (
	SystemCause           Class = "system"            // jobs contend with each other, or for the file system
	FailureCause          Class = "failure"           // traffic blocked by or turned off its way by a failure
	IntraApplicationCause Class = "intra_application" // one job in its own way
	SlowHostCause         Class = "slow_host"         // a host that does not take what arrives
)

// Truth is what really happened in an interval.
type Truth struct {
	Interval schema.Interval `json:"interval"`
	Links    []LinkTruth     `json:"links"`  // those that stall for 5% of the time or more, ascending
	Causes   []Cause         `json:"causes"` // of all stall, the heaviest first
}

// LinkTruth is a link that stalls.
type LinkTruth struct {
	Link          schema.LinkID `json:"link"`
	CreditPercent float64       `json:"credit_percent"` // of time, the larger of the two ways
	InqPercent    float64       `json:"inq_percent"`
	Cause         int           `json:"cause"`           // index into Causes of the heaviest; -1 none
	Root          string        `json:"root,omitempty"`  // the port or host of that cause that holds back most here
	Roots         []RootShare   `json:"roots,omitempty"` // of all causes, what holds back a twentieth or more, the most first
	Jobs          []JobShare    `json:"jobs"`            // by share of what the link is offered, the largest first
}

// RootShare is the part of a full port, or of a host, in what a link holds back.
type RootShare struct {
	Root  string  `json:"root"`
	Cause int     `json:"cause"` // index into Causes
	Share float64 `json:"share"` // 0 to 1, of bytes/s held back
}

// leastRootShare is the least share of what a link holds back that is listed.
const leastRootShare = .05

// JobShare is the part of a job's traffic of one pattern in what a link is offered.
type JobShare struct {
	JobID   string  `json:"job"`
	Pattern Pattern `json:"pattern"`
	Share   float64 `json:"share"` // 0 to 1
}

// Cause is something that holds traffic up.
type Cause struct {
	Class   Class           `json:"class"`
	Jobs    []string        `json:"jobs,omitempty"`   // whose traffic it is, the heaviest first
	Shares  []float64       `json:"shares,omitempty"` // by job: of what the first root is offered, 0 to 1
	Pattern Pattern         `json:"pattern"`          // of the heaviest
	Object  string          `json:"object,omitempty"` // what failed or is slow
	Roots   []string        `json:"roots"`            // what is full: ports, or hosts
	Weight  float64         `json:"weight"`           // bytes/s held back, summed over links
	Links   []schema.LinkID `json:"links"`            // that stall for 5% or more mainly by it
}

// CauseOf finds the cause of a set of links, a region: the one that most of
// those that stall have, and their share of the set, 0 to 1. It reports -1 if
// none of them has any.
func (t *Truth) CauseOf(links []schema.LinkID) (cause int, share float64) {
	votes := make([]int, len(t.Causes))
	cause = -1
	for _, l := range links {
		i, found := slices.BinarySearchFunc(t.Links, l, func(x LinkTruth, l schema.LinkID) int { return cmp.Compare(x.Link, l) })
		if !found || t.Links[i].Cause < 0 {
			continue
		}
		c := t.Links[i].Cause
		if votes[c]++; cause < 0 || votes[c] > votes[cause] {
			cause = c
		}
	}
	if cause < 0 {
		return -1, 0
	}
	return cause, float64(votes[cause]) / float64(len(links))
}
