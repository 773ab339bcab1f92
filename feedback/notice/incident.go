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
	Root       *place            `json:"root,omitempty"` // of the region, nil: its port is not known
	Cycle      []schema.PortName `json:"cycle,omitempty"`
	// EndedNanos is when the region that it was of ended; 0: it is open.
	EndedNanos int64 `json:"ended_nanos,omitempty"`
}

// place is a port, and the link that leaves it: at either end of a cable of which one
// link stands for both directions it is the same.
type place struct {
	schema.PortName
	Link schema.LinkID `json:"link"`
}

// incidentOf is the incident that a notice belongs to: the oldest one that shares its root
// or its cycle of waiting ports, or else the region's own.
func (t *Tracker) incidentOf(n *Notice, was *open) incident {
	own := incident{ID: n.ID, SinceNanos: int64(n.Time)}
	own.Root, own.Cycle = placeOf(n)
	if was != nil {
		own = was.Incident
	}
	first, said := own, was != nil // whether anybody has heard of first
	consider := func(o *incident, same bool) {
		if same && (!said || cmp.Or(cmp.Compare(o.SinceNanos, first.SinceNanos), cmp.Compare(o.ID, first.ID)) < 0) {
			first, said = *o, true
		}
	}
	for _, o := range t.state.Open {
		consider(&o.Incident, o.Incident.shares(&own))
	}
	for i := range t.state.Ended {
		o := &t.state.Ended[i]
		consider(o, o.shares(&own))
	}
	own.ID, own.SinceNanos = first.ID, first.SinceNanos
	return own
}

// shares reports whether two regions wait for one another, or for the same port.
func (i *incident) shares(o *incident) bool {
	if len(i.Cycle) > 0 && slices.Equal(i.Cycle, o.Cycle) {
		return true
	}
	return i.Root != nil && o.Root != nil && (i.Root.PortName == o.Root.PortName || i.Root.Link != schema.NoLink && i.Root.Link == o.Root.Link)
}

// regionsOf is how many regions of an incident are open.
func (t *Tracker) regionsOf(id string) (n int) {
	for _, o := range t.state.Open {
		if o.Incident.ID == id {
			n++
		}
	}
	return n
}

// placeOf is what a region waits for, by its diagnosis or else by the segmentation.
func placeOf(n *Notice) (root *place, cycle []schema.PortName) {
	r := n.Region.Root
	if n.Diagnosis != nil {
		r, cycle = cmp.Or(n.Diagnosis.Root, r), n.Diagnosis.Cycle
	}
	if r != nil && r.Port != "" {
		root = &place{schema.PortName{Device: r.Device, Port: r.Port}, r.Link}
	}
	return root, cycle
}

// forget drops the incidents that ended too long ago to come back.
func (t *Tracker) forget(nowNanos int64) {
	t.state.Ended = slices.DeleteFunc(t.state.Ended, func(i incident) bool {
		return nowNanos-i.EndedNanos > int64(flapWindow)
	})
}
