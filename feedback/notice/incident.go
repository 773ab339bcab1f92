package notice

import (
	"cmp"
	"slices"
	"time"

	"github.com/giverny/giverny/schema"
)

// FlapWindow is how long after the end of a region a new one at the same root still
// joins its incident, as ticket systems reopen a recently closed ticket.
const FlapWindow = time.Hour

// incident groups regions that a person would treat as one problem.
type incident struct {
	ID         string `json:"id"` // ID of its first notice
	SinceNanos int64  `json:"since_nanos"`
	Place
	// EndedNanos is when its region ended; 0: still open.
	EndedNanos int64 `json:"ended_nanos,omitempty"`
}

// Place is what a region waits for. Regions with the same place have one incident.
type Place struct {
	Root  *port             `json:"root,omitempty"` // nil: the port is unknown
	Cycle []schema.PortName `json:"cycle,omitempty"`
}

// port is a port and the link that leaves it. The link matches both ends of a cable
// whose two directions are represented by one link.
type port struct {
	schema.PortName
	Link schema.LinkID `json:"link"`
}

// incidentOf returns the incident of a notice: the oldest one with the same root or cycle
// of waiting ports, or else the region's own.
func (t *Tracker) incidentOf(n *Notice, was *open) incident {
	own := incident{ID: n.ID, SinceNanos: int64(n.Time)}
	own.Place = PlaceOf(&n.Region, n.Diagnosis)
	if was != nil {
		own = was.Incident
	}
	first, said := own, was != nil // said: first has been announced
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

// Shares reports whether two places have the same cycle of waiting ports or the same root port.
func (p *Place) Shares(o *Place) bool {
	if len(p.Cycle) > 0 && slices.Equal(p.Cycle, o.Cycle) {
		return true
	}
	return p.Root != nil && o.Root != nil && (p.Root.PortName == o.Root.PortName || p.Root.Link != schema.NoLink && p.Root.Link == o.Root.Link)
}

// regionsOf counts the open regions of an incident.
func (t *Tracker) regionsOf(id string) (n int) {
	for _, o := range t.state.Open {
		if o.Incident.ID == id {
			n++
		}
	}
	return n
}

// PlaceOf returns what a region waits for, according to its diagnosis if it has one, else to the segmentation.
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

// maxEnded bounds the ended incidents: a storm of short regions ends hundreds in each interval, and all of FlapWindow would be
// compared, and saved, with each interval.
const maxEnded = 4096

// forget drops incidents that ended longer than FlapWindow ago, and the oldest of too many.
func (t *Tracker) forget(nowNanos int64) {
	t.state.Ended = slices.Delete(t.state.Ended, 0, max(0, len(t.state.Ended)-maxEnded))
	t.state.Ended = slices.DeleteFunc(t.state.Ended, func(i incident) bool {
		return nowNanos-i.EndedNanos > int64(FlapWindow)
	})
}
