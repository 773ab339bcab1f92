package scenario

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/schema"
)

// Class is a class of causes (Monet, section 5.4).
type Class string

// Classes of causes.
const (
	SystemCause           Class = "system"            // jobs contend with each other, or for the file system; a job in the way of another
	FailureCause          Class = "failure"           // traffic blocked or diverted by a failure
	IntraApplicationCause Class = "intra_application" // one job contending with itself
	SlowHostCause         Class = "slow_host"         // a host that does not accept what arrives
)

// Truth is the ground truth of an interval.
type Truth struct {
	Interval schema.Interval `json:"interval"`
	Links    []LinkTruth     `json:"links"`  // those that stall for at least 5% of the time, ascending
	Causes   []Cause         `json:"causes"` // of all stall, heaviest first
}

// LinkTruth is a link that stalls.
type LinkTruth struct {
	Link          schema.LinkID `json:"link"`
	CreditPercent float64       `json:"credit_percent"` // of time, the larger of the two directions
	InqPercent    float64       `json:"inq_percent"`
	Cause         int           `json:"cause"`           // index into Causes of the heaviest; -1: none
	Root          string        `json:"root,omitempty"`  // the port or host of that cause that holds back most here
	Roots         []RootShare   `json:"roots,omitempty"` // of all causes, roots that hold back at least a twentieth, largest first
	Jobs          []JobShare    `json:"jobs"`            // by share of the link's offered load, largest first
}

// RootShare is a full port's, or a host's, share of the traffic that is held back on a link.
type RootShare struct {
	Root  string  `json:"root"`
	Cause int     `json:"cause"` // index into Causes
	Share float64 `json:"share"` // 0 to 1, of bytes/s held back
}

// leastRootShare is the smallest share that is listed.
const leastRootShare = .05

// JobShare is the share of a job's traffic of one pattern in a link's offered load.
type JobShare struct {
	JobID   string  `json:"job"`
	Pattern Pattern `json:"pattern"`
	Share   float64 `json:"share"` // 0 to 1
}

// Cause is a cause of stalls.
type Cause struct {
	Class   Class           `json:"class"`
	Jobs    []string        `json:"jobs,omitempty"`   // whose traffic it is, heaviest first
	Shares  []float64       `json:"shares,omitempty"` // by job: share of the first root's offered load, 0 to 1
	Pattern Pattern         `json:"pattern"`          // of the heaviest
	Object  string          `json:"object,omitempty"` // what failed or is slow
	Roots   []string        `json:"roots"`            // full ports, or hosts
	Weight  float64         `json:"weight"`           // bytes/s held back, summed over links
	Links   []schema.LinkID `json:"links"`            // that stall for 5% or more mainly due to it
}

// CauseOf returns the cause of a set of links, a region: the one shared by most of its
// stalling links, and their share of the set, 0 to 1; -1 if none has a cause.
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
