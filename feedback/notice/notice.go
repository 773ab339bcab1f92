// Package notice says what there is to say about a fabric's regions: that one has
// come, that its diagnosis has changed, that it has gone. In go the results of a
// fabric's intervals in order, out come notices; a region that stays as it is gives
// none. It sends nothing, and what it remembers can be saved and loaded.
package notice

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/giverny/giverny/schema"
)

// Event is what a notice is about.
type Event string

// Events of a region.
const (
	Opened Event = "opened"
	// Changed: its severity, its cause, the job or the root that is accused first, or it is
	// a deadlock now. Once when it falls below the least severity, and then not before it is
	// back there.
	Changed Event = "changed"
	// Moved: it turns out to be part of an older incident, MovedTo, and is part of Incident no more. A notice Changed
	// of that follows.
	Moved Event = "moved"
	Ended Event = "ended"
)

// Notice is one thing to say. Its JSON is a public interface: docs/reference has it.
type Notice struct {
	// ID is the same whenever this is said: it is made of the fabric, the interval, the
	// region and the event.
	ID     string         `json:"id"`
	Event  Event          `json:"event"`
	Fabric string         `json:"fabric"`
	Time   schema.Instant `json:"time"` // start of the interval
	// RegionID is region.id as text, in the form of diagnosis.region: readers that hold
	// numbers as floats round the number.
	RegionID uint64        `json:"region_id,string"`
	Region   schema.Region `json:"region"`
	// Incident is the ID of the first notice of the trouble that the region is part of: one
	// ticket. Regions with one root, also if one comes back within an hour, and all of one
	// deadlock have that of the first.
	Incident string `json:"incident"`
	// IncidentRegions is how many regions of the incident are open after the interval; 0:
	// it is over.
	IncidentRegions int `json:"incident_regions"`
	// MovedTo is the incident that the region is part of from now on.
	MovedTo string `json:"moved_to,omitempty"`
	// Diagnosis is nil where none was made. Of a region that ended it is the last.
	Diagnosis *schema.Diagnosis `json:"diagnosis"`
}

// endAfter is for how many intervals a region must be away to have ended: a region
// may be missed in one.
const endAfter = 2

// Tracker follows the regions of one fabric. It is for one caller at a time.
type Tracker struct {
	least schema.Severity
	state state
}

// state is what a tracker remembers.
type state struct {
	LastNanos int64            `json:"last_nanos"` // start of the last interval
	Open      map[string]*open `json:"open"`
	Ended     []incident       `json:"ended,omitempty"` // lately, in that order
}

// open is a region that has been said to be there.
type open struct {
	Last     Notice   `json:"last"`
	Signs    string   `json:"signs"`
	Incident incident `json:"incident"`
	Missing  int      `json:"missing"`
}

// New makes a tracker of regions at a severity or above.
func New(least schema.Severity) *Tracker {
	return &Tracker{least: least, state: state{Open: map[string]*open{}}}
}

// Last is the start of the last interval that was given to Step; 0: none was.
func (t *Tracker) Last() int64 { return t.state.LastNanos }

// Save gives what the tracker remembers.
func (t *Tracker) Save() ([]byte, error) { return json.Marshal(&t.state) }

// Load takes what Save gave.
func (t *Tracker) Load(text []byte) error {
	s := state{}
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("state of notices: %w", err)
	}
	if s.Open == nil {
		s.Open = map[string]*open{}
	}
	for _, o := range s.Open {
		if o.Incident.ID == "" { // saved before there were incidents
			o.Incident = incident{ID: o.Last.ID, SinceNanos: int64(o.Last.Time)}
		}
	}
	t.state = s
	return nil
}

// Step takes the result of the next interval. One that is not after the last gives
// nothing.
func (t *Tracker) Step(r *schema.IntervalResult) (notices []Notice) {
	start := r.Snapshot.Interval.StartNanos
	if start <= t.state.LastNanos {
		return nil
	}
	t.state.LastNanos = start
	t.forget(start)
	diagnoses := map[string]*schema.Diagnosis{}
	for i := range r.Diagnoses {
		diagnoses[keyOf(r.Diagnoses[i].Region, r.Diagnoses[i].Metric)] = &r.Diagnoses[i]
	}
	var there []Notice
	seen := map[string]bool{}
	for i := range r.Regions {
		region := &r.Regions[i]
		key := keyOf(region.ID, region.Metric)
		was := t.state.Open[key]
		if region.ID == 0 || region.Severity < schema.Low || region.Severity < t.least && was == nil {
			continue
		}
		seen[key] = true
		n := Notice{Fabric: r.Snapshot.Fabric, Time: schema.Instant(start), RegionID: region.ID, Region: *region, Diagnosis: diagnoses[key], Event: Opened}
		if was != nil {
			was.Incident.Place = PlaceOf(&n.Region, n.Diagnosis)
		}
		there = append(there, n)
	}
	for _, n := range there {
		notices = append(notices, t.worthSaying(&n)...)
	}
	if r.Network.Unknown == nil { // else it may be there, unseen
		notices = append(notices, t.ended(schema.Instant(start), seen)...)
	}
	for i := range notices {
		notices[i].IncidentRegions = t.regionsOf(notices[i].Incident)
	}
	slices.SortFunc(notices, func(a, b Notice) int {
		return cmp.Or(cmp.Compare(b.Region.Severity, a.Region.Severity), cmp.Compare(a.Region.ID, b.Region.ID), cmp.Compare(a.Region.Metric, b.Region.Metric),
			-cmp.Compare(a.Event, b.Event)) // "moved" before "changed"
	})
	return notices
}

// worthSaying remembers a notice of a region that is there, and lists what is to be said of it: nothing, where it does not
// differ from what has been said.
func (t *Tracker) worthSaying(n *Notice) (notices []Notice) {
	key, signs := keyOf(n.Region.ID, n.Region.Metric), t.signsOf(n)
	was := t.state.Open[key]
	if was != nil {
		if was.Signs == signs {
			was.Last, was.Missing = *n, 0
			return nil
		}
		n.Event = Changed
	}
	n.ID = idOf(n)
	of := t.incidentOf(n, was)
	n.Incident = of.ID
	if was != nil && was.Incident.ID != of.ID {
		moved := *n
		moved.Event, moved.Incident, moved.MovedTo = Moved, was.Incident.ID, of.ID
		moved.ID = idOf(&moved)
		notices = append(notices, moved)
	}
	t.state.Open[key] = &open{Last: *n, Signs: signs, Incident: of}
	return append(notices, *n)
}

// ended lists the regions that have been away for long enough.
func (t *Tracker) ended(at schema.Instant, seen map[string]bool) (notices []Notice) {
	for key, o := range t.state.Open {
		if seen[key] {
			continue
		}
		if o.Missing++; o.Missing < endAfter {
			continue
		}
		n := o.Last
		n.Event, n.Time, n.RegionID, n.Incident = Ended, at, n.Region.ID, o.Incident.ID // RegionID: a state saved before it was there
		n.ID = idOf(&n)
		delete(t.state.Open, key)
		o.Incident.EndedNanos = int64(at)
		t.state.Ended = append(t.state.Ended, o.Incident)
		notices = append(notices, n)
	}
	return notices
}

func keyOf(region uint64, metric schema.Metric) string { return fmt.Sprintf("%d %s", region, metric) }

// below are the signs of a region that has fallen below the least severity: that it has is
// said once, and what it does there is not.
const below = "below"

// signsOf is what makes a notice worth saying again when it differs.
func (t *Tracker) signsOf(n *Notice) string {
	if n.Region.Severity < t.least {
		return below
	}
	signs := n.Region.Severity.String()
	if d := n.Diagnosis; d != nil {
		signs += " " + string(d.Cause.Class)
		if len(d.Jobs) > 0 {
			signs += fmt.Sprintf(" %q", d.Jobs[0].JobID)
		}
		if d.Root != nil {
			signs += fmt.Sprintf(" %q %q", d.Root.Device, d.Root.Port)
		}
		if len(d.Cycle) > 0 {
			signs += " deadlock"
		}
	}
	return signs
}

// idBytes is how much of the hash an id is.
const idBytes = 16

func idOf(n *Notice) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %d %d %s %s", n.Fabric, n.Time, n.Region.ID, n.Region.Metric, n.Event))
	return hex.EncodeToString(sum[:idBytes])
}
