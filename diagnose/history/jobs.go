package history

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/diagnose/routes"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Job is a job with its place in the fabric and its traffic.
type Job struct {
	schema.Job
	Devices []topology.DeviceID // its nodes that the fabric has, ascending, deduplicated
	routes  *routes.Set         // of its traffic; nil until first used
	Traffic *Traffic            // nil until some is known
}

// Size is the number of the job's nodes that the fabric has.
func (j *Job) Size() float64 { return float64(len(j.Devices)) }

// Has reports whether a device is one of the job's nodes.
func (j *Job) Has(d topology.DeviceID) bool {
	_, own := slices.BinarySearch(j.Devices, d)
	return own
}

// Shares is the number of nodes that a job has in common with another.
func (j *Job) Shares(other *Job) (n float64) {
	for _, d := range other.Devices {
		if j.Has(d) {
			n++
		}
	}
	return n
}

// jobTable keeps running and recently ended jobs. A job's key is (id, start).
type jobTable struct {
	byID   map[string][]*Job // of one id, by start
	count  int
	sorted []*Job // all of them, by id and start; nil: must be rebuilt
}

func newJobTable() *jobTable { return &jobTable{byID: map[string][]*Job{}} }

// upsert adds or updates a job. Pending jobs are ignored.
func (t *jobTable) upsert(g *topology.Graph, in schema.Job) {
	if in.Start == 0 || in.ID == "" {
		return
	}
	same := t.byID[in.ID]
	i, found := slices.BinarySearchFunc(same, in.Start, func(j *Job, start schema.Instant) int {
		return cmp.Compare(j.Start, start)
	})
	if found {
		same[i].take(g, in)
		return
	}
	j := &Job{Job: in}
	j.Place(g)
	t.byID[in.ID] = slices.Insert(same, i, j)
	t.count++
	t.sorted = nil
}

// take updates the job. An update without nodes leaves it where it was.
func (j *Job) take(g *topology.Graph, in schema.Job) {
	if len(in.Nodes) == 0 || slices.Equal(j.Nodes, in.Nodes) {
		in.Nodes = j.Nodes
		j.Job = in
		return
	}
	j.Job = in
	j.Place(g)
}

// Place finds the job's nodes in the fabric; unknown nodes are left out.
func (j *Job) Place(g *topology.Graph) {
	j.Devices, j.routes = j.Devices[:0], nil
	for _, name := range j.Nodes {
		if d, ok := g.FindDevice(name); ok {
			j.Devices = append(j.Devices, d)
		}
	}
	slices.Sort(j.Devices)
	j.Devices = slices.Compact(j.Devices)
}

// at returns the last job of an id that ran between two instants, nil if none did.
func (t *jobTable) at(id string, from, to int64) *Job {
	same := t.byID[id]
	for i := len(same) - 1; i >= 0; i-- {
		if j := same[i]; int64(j.Start) < to && (j.End == 0 || int64(j.End) > from) {
			return j
		}
	}
	return nil
}

// forget drops jobs that ended before an instant, and of more than most those that ended, or else began,
// first.
func (t *jobTable) forget(before int64, most int) {
	for id, same := range t.byID {
		kept := slices.DeleteFunc(same, func(j *Job) bool { return j.End != 0 && int64(j.End) < before })
		t.set(id, len(same), kept)
	}
	if t.count <= most {
		return
	}
	all := slices.Clone(t.all())
	slices.SortStableFunc(all, func(a, b *Job) int {
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
		t.set(j.ID, n, slices.DeleteFunc(same, func(o *Job) bool { return o == j }))
	}
}

func (t *jobTable) set(id string, was int, kept []*Job) {
	if len(kept) == was {
		return
	}
	t.count -= was - len(kept)
	t.sorted = nil
	if t.byID[id] = kept; len(kept) == 0 {
		delete(t.byID, id)
	}
}

// all lists the jobs by id and start. The table owns the list.
func (t *jobTable) all() []*Job {
	if t.sorted == nil {
		t.sorted = make([]*Job, 0, t.count)
		for _, same := range t.byID {
			t.sorted = append(t.sorted, same...)
		}
		slices.SortFunc(t.sorted, func(a, b *Job) int {
			return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Start, b.Start))
		})
	}
	return t.sorted
}
