package diagnose

import (
	"math"
	"time"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/ticket"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// finding is what the words of a diagnosis depend on, given the reported root and, if jobs are accused, the failure of
// its link.
func (rc *regionCase) finding(root *schema.Root, also *nearFailure) ticket.Finding {
	f := ticket.Finding{Graph: rc.in.graph, OnGrid: rc.in.router.Grid != nil, MeasuresLoad: rc.in.measuresLoad,
		Interval: time.Duration(rc.in.history.Clock.Duration), Region: rc.region, Back: &rc.back, Root: root,
		Class: rc.verdict.class, Lost: rc.slowLink()}
	for i := range rc.verdict.accused {
		f.Accused = append(f.Accused, rc.accused(i, root))
	}
	for i := range rc.verdict.blamed {
		f.Blamed = append(f.Blamed, rc.failures[i].found())
	}
	if also != nil {
		failed := also.found()
		f.Also = &failed
	}
	if rc.verdict.class == schema.CauseUnknown {
		f.Unknown = rc.unknown()
	}
	return f
}

func (f *nearFailure) found() ticket.Failure {
	return ticket.Failure{PlacedFailure: f.PlacedFailure, Silent: f.silent, Hops: f.hops}
}

// accused is what is said of the suspect with a number.
func (rc *regionCase) accused(number int, root *schema.Root) ticket.Job {
	c := &rc.suspects[number]
	j := ticket.Job{Job: c.job.Job, Files: c.loadsFiles(), Feature: c.feature, Deviations: c.devs,
		Stall: c.evidence.Result, Started: c.evidence.started}
	if c.known {
		j.Value = c.value
	}
	// in an exchange on a torus many nodes are full, and another receiver would not help
	if exchanges := number == 0 && rc.verdict.exchanges; root != nil && !(exchanges && root.Port == "") {
		j.Receiver = rc.in.receiver(c.job, root)
	}
	if rc.verdict.class == schema.CauseIntraApplication && j.Receiver == "" {
		j.Scattered = rc.in.isScattered(c.job)
	}
	return j
}

// unknown is what is said of a region whose cause is unknown.
func (rc *regionCase) unknown() ticket.Unknown {
	u := ticket.Unknown{Jobs: len(rc.suspects), Failures: len(rc.failures)}
	if at := rc.region.Root; at != nil && rc.in.history.FellSilent(at.Device) {
		u.Silent = at.Device
	}
	if len(rc.suspects) == 0 {
		return u
	}
	likeliest := &rc.suspects[0]
	u.Likeliest, u.Fits = likeliest.job.Job, likeliest.score > 0
	if rc.odds.unlisted > 1 && rc.odds.unlisted > math.Exp(likeliest.score) {
		switch {
		case rc.unaccountedAt(likeliest) > 0:
			u.Others = ticket.OnItsHosts
		case rc.out.hostsLeave != nil && rc.out.ofOthers(likeliest.job) > rc.out.unlisted:
			u.Others = ticket.OfOtherJobs
		default:
			u.Others = ticket.Unlisted
		}
	}
	return u
}

// ownShare of a region's stall on links of its exchange is enough for a job to cause it without reading files.
const ownShare = .6

// loadsFiles reports whether a job is accused because of its traffic with storage nodes.
func (c *suspect) loadsFiles() bool {
	return c.file || c.known && c.feature == history.RDMARead && c.cross < ownShare
}

// receiver is the node of a job at which more arrives than it takes, if that is the root; else empty.
func (in *interval) receiver(j *job, root *schema.Root) string {
	if root.Kind != schema.RootIncast {
		return ""
	}
	name := root.Device
	if root.Port != "" {
		name = root.Peer
	}
	d, known := in.graph.FindDevice(name)
	if !known || !j.Has(d) {
		return ""
	}
	return topology.PlainName(name)
}

// isScattered reports whether a job's nodes are not one block, and could be.
func (in *interval) isScattered(j *job) bool {
	if in.graph.Grid() == nil || in.router.Grid == nil {
		return in.fitsFewerLeaves(j)
	}
	volume := 1
	for dim, size := range in.graph.Grid().Dims {
		seen := make([]bool, size)
		n := 0
		for _, d := range j.Devices {
			if x := in.graph.Device(d).Coord[dim]; !seen[x] {
				seen[x] = true
				n++
			}
		}
		volume *= n
	}
	return volume > len(j.Devices)
}

// fitsFewerLeaves reports whether another placement could help a job on other fabrics than grids: not if it has one
// leaf switch, or one in each rail, or does not fit into fewer than all.
func (in *interval) fitsFewerLeaves(j *job) bool {
	own := map[topology.DeviceID]bool{}
	for _, d := range j.Devices {
		for _, leaf := range in.router.LeavesOf(d) {
			own[leaf] = true
		}
	}
	return len(own) > len(in.router.LeavesOf(j.Devices[0])) && (in.smallestLeaf == 0 || len(j.Devices) <= len(in.hosts)-in.smallestLeaf)
}
