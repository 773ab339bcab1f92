package diagnose

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/diagnose/routes"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// job is a job of the table, with where it runs and what it moved.
type job struct {
	schema.Job
	devices []topology.DeviceID // of its nodes that the fabric has, ascending, each once
	routes  *routes.Set         // of its traffic; nil until they are asked for
	traffic *traffic            // nil until some is known

	order    int    // among those that run, by id and start
	round    uint32 // scratch: of the region to which hops is the distance
	hops     int8
	maxima   [numFeatures]float64 // of the window up to interval; -1 not measured
	interval uint32
	files    float64              // moved lately with the file system, bytes
	lagged   [numMeasured]*lagged // in the interval laggedIn
	laggedIn uint32
	was, now moves
	lost     loss
	loads    exchangeLoad
	measured measuredHosts
}

// nodes is how many of its nodes the fabric has.
func (j *job) nodes() float64 { return float64(len(j.devices)) }

// has reports whether a device is a node of its.
func (j *job) has(d topology.DeviceID) bool {
	_, own := slices.BinarySearch(j.devices, d)
	return own
}

// exchangeLoad is whether load was added on most of what a job's exchange uses, since the onset of a round of the past.
type exchangeLoad struct {
	known bool
	round uint32
	most  bool
}

// jobTable keeps jobs that run or ended lately. A job's key is (id, start).
type jobTable struct {
	byID   map[string][]*job // of one id, by start
	count  int
	sorted []*job // all of them, by id and start; nil: to be sorted again
}

func newJobTable() *jobTable { return &jobTable{byID: map[string][]*job{}} }

// upsert adds a job or takes in what changed. A job that still waits is not taken.
func (t *jobTable) upsert(g *topology.Graph, in schema.Job) {
	if in.Start == 0 || in.ID == "" {
		return
	}
	same := t.byID[in.ID]
	i, found := slices.BinarySearchFunc(same, in.Start, func(j *job, start schema.Instant) int { return cmp.Compare(j.Start, start) })
	if found {
		same[i].take(g, in)
		return
	}
	j := &job{Job: in}
	j.place(g)
	t.byID[in.ID] = slices.Insert(same, i, j)
	t.count++
	t.sorted = nil
}

// take brings what is new of the job. An update without nodes leaves it where it was.
func (j *job) take(g *topology.Graph, in schema.Job) {
	if len(in.Nodes) == 0 || slices.Equal(j.Nodes, in.Nodes) {
		in.Nodes = j.Nodes
		j.Job = in
		return
	}
	j.Job = in
	j.place(g)
}

// place finds the job's nodes in the fabric; unknown nodes are left out.
func (j *job) place(g *topology.Graph) {
	j.devices, j.routes, j.loads = j.devices[:0], nil, exchangeLoad{}
	for _, name := range j.Nodes {
		if d, ok := g.FindDevice(name); ok {
			j.devices = append(j.devices, d)
		}
	}
	slices.Sort(j.devices)
	j.devices = slices.Compact(j.devices)
}

// at is the job of an id that ran last at an instant, nil if none did.
func (t *jobTable) at(id string, from, to int64) *job {
	same := t.byID[id]
	for i := len(same) - 1; i >= 0; i-- {
		if j := same[i]; int64(j.Start) < to && (j.End == 0 || int64(j.End) > from) {
			return j
		}
	}
	return nil
}

// forget drops jobs that ended before an instant, and above a number those that ended, or else began,
// first.
func (t *jobTable) forget(before int64, most int) {
	for id, same := range t.byID {
		kept := slices.DeleteFunc(same, func(j *job) bool { return j.End != 0 && int64(j.End) < before })
		t.set(id, len(same), kept)
	}
	if t.count <= most {
		return
	}
	all := slices.Clone(t.all())
	slices.SortStableFunc(all, func(a, b *job) int {
		if (a.End == 0) != (b.End == 0) {
			if a.End == 0 {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(a.End, b.End), cmp.Compare(a.Start, b.Start))
	})
	for _, j := range all[:t.count-most] {
		same := t.byID[j.ID]
		n := len(same)
		t.set(j.ID, n, slices.DeleteFunc(same, func(o *job) bool { return o == j }))
	}
}

func (t *jobTable) set(id string, was int, kept []*job) {
	if len(kept) == was {
		return
	}
	t.count -= was - len(kept)
	t.sorted = nil
	if t.byID[id] = kept; len(kept) == 0 {
		delete(t.byID, id)
	}
}

// all lists the jobs by id and start. The list is the table's.
func (t *jobTable) all() []*job {
	if t.sorted == nil {
		t.sorted = make([]*job, 0, t.count)
		for _, same := range t.byID {
			t.sorted = append(t.sorted, same...)
		}
		slices.SortFunc(t.sorted, func(a, b *job) int { return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Start, b.Start)) })
	}
	return t.sorted
}
