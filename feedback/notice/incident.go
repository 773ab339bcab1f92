package notice

import (
	"cmp"
	"slices"
	"time"

	"github.com/giverny/giverny/schema"
)

// flapWindow is for how long after the end of a region one that opens at the same root
// belongs to its incident, as ticket systems reopen a ticket that was closed lately.
const flapWindow = time.Hour

// incident is what regions have in common that a person would treat as one trouble.
type incident struct {
	ID         string            `json:"id"` // of its first notice
	SinceNanos int64             `json:"since_nanos"`
	Root       *schema.PortName  `json:"root,omitempty"` // of the region, nil: its port is not known
	Cycle      []schema.PortName `json:"cycle,omitempty"`
	// EndedNanos is when the region that it was of ended; 0: it is open.
	EndedNanos int64 `json:"ended_nanos,omitempty"`
}

// incidentOf is the incident that a notice belongs to: the region's own, or the oldest
// one that shares its cycle of waiting ports or, of regions that have ended lately,
// its root.
func (t *Tracker) incidentOf(n *Notice, was *open) incident {
	own := incident{ID: n.ID, SinceNanos: int64(n.Time)}
	own.Root, own.Cycle = placeOf(n)
	if was != nil {
		own = was.Incident
	}
	first := own
	consider := func(o *incident, same bool) {
		if same && cmp.Or(cmp.Compare(o.SinceNanos, first.SinceNanos), cmp.Compare(o.ID, first.ID)) < 0 {
			first = *o
		}
	}
	for _, o := range t.state.Open {
		consider(&o.Incident, o.Incident.sharesCycle(&own))
	}
	for i := range t.state.Ended {
		o := &t.state.Ended[i]
		consider(o, o.sharesCycle(&own) || was == nil && o.sharesRoot(&own))
	}
	own.ID, own.SinceNanos = first.ID, first.SinceNanos
	return own
}

func (i *incident) sharesCycle(o *incident) bool {
	return len(i.Cycle) > 0 && slices.Equal(i.Cycle, o.Cycle)
}

func (i *incident) sharesRoot(o *incident) bool {
	return i.Root != nil && o.Root != nil && *i.Root == *o.Root
}

// placeOf is what a region waits for, by its diagnosis or else by the segmentation.
func placeOf(n *Notice) (root *schema.PortName, cycle []schema.PortName) {
	r := n.Region.Root
	if n.Diagnosis != nil {
		r, cycle = cmp.Or(n.Diagnosis.Root, r), n.Diagnosis.Cycle
	}
	if r != nil && r.Port != "" {
		root = &schema.PortName{Device: r.Device, Port: r.Port}
	}
	return root, cycle
}

// forget drops the incidents that ended too long ago to come back.
func (t *Tracker) forget(nowNanos int64) {
	t.state.Ended = slices.DeleteFunc(t.state.Ended, func(i incident) bool {
		return nowNanos-i.EndedNanos > int64(flapWindow)
	})
}
