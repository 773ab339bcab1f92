package notice

import (
	"cmp"
	"slices"
	"time"

	"github.com/giverny/giverny/schema"
)

// FlapWindow is for how long after the end of a region one that opens at the same root
// belongs to its incident, as ticket systems reopen a ticket that was closed lately.
const FlapWindow = time.Hour

// incident is what regions have in common that a person would treat as one trouble.
type incident struct {
	ID         string `json:"id"` // of its first notice
	SinceNanos int64  `json:"since_nanos"`
	Place
	// EndedNanos is when the region that it was of ended; 0: it is open.
	EndedNanos int64 `json:"ended_nanos,omitempty"`
}

// Place is what a region waits for. Regions that share theirs are one trouble.
type Place struct {
	Root  *port             `json:"root,omitempty"` // nil: its port is not known
	Cycle []schema.PortName `json:"cycle,omitempty"`
}

// port is a port, and the link that leaves it: at either end of a cable of which one
// link stands for both directions it is the same.
type port struct {
	schema.PortName
	Link schema.LinkID `json:"link"`
}

// incidentOf is the incident that a notice belongs to: the oldest one that shares its root
// or its cycle of waiting ports, or else the region's own.
func (t *Tracker) incidentOf(n *Notice, was *open) incident {
	own := incident{ID: n.ID, SinceNanos: int64(n.Time)}
	own.Place = PlaceOf(&n.Region, n.Diagnosis)
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
		consider(&o.Incident, o.Incident.Shares(&own.Place))
	}
	for i := range t.state.Ended {
		o := &t.state.Ended[i]
		consider(o, o.Shares(&own.Place))
	}
	own.ID, own.SinceNanos = first.ID, first.SinceNanos
	return own
}

// Shares reports whether two regions wait for one another, or for the same port.
func (p *Place) Shares(o *Place) bool {
	if len(p.Cycle) > 0 && slices.Equal(p.Cycle, o.Cycle) {
		return true
	}
	return p.Root != nil && o.Root != nil && (p.Root.PortName == o.Root.PortName || p.Root.Link != schema.NoLink && p.Root.Link == o.Root.Link)
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

// PlaceOf is what a region waits for, by its diagnosis, if it has one, or else by the segmentation.
func PlaceOf(region *schema.Region, d *schema.Diagnosis) (p Place) {
	r := region.Root
	if d != nil {
		r, p.Cycle = cmp.Or(d.Root, r), d.Cycle
	}
	if r != nil && r.Port != "" {
		p.Root = &port{schema.PortName{Device: r.Device, Port: r.Port}, r.Link}
	}
	return p
}

// forget drops the incidents that ended too long ago to come back.
func (t *Tracker) forget(nowNanos int64) {
	t.state.Ended = slices.DeleteFunc(t.state.Ended, func(i incident) bool {
		return nowNanos-i.EndedNanos > int64(FlapWindow)
	})
}
