// Package notice turns the results of a fabric into notices about its regions: opened,
// changed, moved to another incident, ended. Input: interval results in order. Output:
// notices; a region that does not change produces none. It sends nothing, and its state
// can be saved and loaded.
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

// Event is the kind of a notice.
type Event string

// Events of a region.
const (
	Opened Event = "opened"
	// Changed: its severity, its cause, or the job or root accused first has changed, or it
	// has become a deadlock. If it falls below the minimum severity, this is reported once,
	// and then nothing until it is back above.
	Changed Event = "changed"
	// Moved: it turned out to be part of an older incident, MovedTo, and leaves Incident. A Changed notice for
	// MovedTo follows.
	Moved Event = "moved"
	Ended Event = "ended"
)

// Notice is one event of a region. Its JSON is a public interface, documented in docs/reference.
type Notice struct {
	// ID is an idempotency key: a hash of the fabric, the interval, the region and the
	// event, so it is the same if the notice is produced again.
	ID     string         `json:"id"`
	Event  Event          `json:"event"`
	Fabric string         `json:"fabric"`
	Time   schema.Instant `json:"time"` // start of the interval
	// RegionID is region.id as a string, in the form of diagnosis.region, for JSON
	// readers that round large numbers to floats.
	RegionID uint64        `json:"region_id,string"`
	Region   schema.Region `json:"region"`
	// Incident is the ID of the first notice of the incident, for example for one ticket.
	// Regions with the same root share it, also if one returns within an hour, and so do
	// all regions of a deadlock.
	Incident string `json:"incident"`
	// IncidentRegions is how many regions of the incident are open after the interval; 0:
	// the incident has ended.
	IncidentRegions int `json:"incident_regions"`
	// MovedTo is the incident that the region now belongs to.
	MovedTo string `json:"moved_to,omitempty"`
	// Diagnosis is nil if there is none. For a region that ended it is the last one.
	Diagnosis *schema.Diagnosis `json:"diagnosis"`
}

// endAfter is how many intervals a region must be absent before it has ended: the
// segmentation may miss it in one.
const endAfter = 2

// Tracker follows the regions of one fabric. It is not safe for concurrent use.
type Tracker struct {
	least schema.Severity
	state state
}

// state is what a tracker remembers between results.
type state struct {
	LastNanos int64            `json:"last_nanos"` // start of the last interval
	Open      map[string]*open `json:"open"`
	Ended     []incident       `json:"ended,omitempty"` // recently, in order of their end
}

// open is a region that has been announced.
type open struct {
	Last     Notice   `json:"last"`
	Signs    string   `json:"signs"`
	Incident incident `json:"incident"`
	Missing  int      `json:"missing"`
}

// New returns a tracker of regions with at least the given severity.
func New(least schema.Severity) *Tracker {
	return &Tracker{least: least, state: state{Open: map[string]*open{}}}
}

// Last is the start of the last interval given to Step; 0: none.
func (t *Tracker) Last() int64 { return t.state.LastNanos }

// SetBack makes Step accept intervals after an instant, once the clock that was ahead when the last ones were processed has been
// set back.
func (t *Tracker) SetBack(toNanos int64) { t.state.LastNanos = min(t.state.LastNanos, toNanos) }

// Save encodes the state.
func (t *Tracker) Save() ([]byte, error) { return json.Marshal(&t.state) }

// Load restores a state encoded by Save.
func (t *Tracker) Load(text []byte) error {
	s := state{}
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("state of notices: %w", err)
	}
	if s.Open == nil {
		s.Open = map[string]*open{}
	}
	for key, o := range s.Open {
		if o == nil {
			return fmt.Errorf("state of notices: region %q is null", key)
		}
		if o.Incident.ID == "" { // saved by a version without incidents
			o.Incident = incident{ID: o.Last.ID, SinceNanos: int64(o.Last.Time)}
		}
	}
	t.state = s
	return nil
}

// Step processes the next result. A result that is not newer than the last is ignored.
func (t *Tracker) Step(r *schema.IntervalResult) (notices []Notice) {
	start := r.Snapshot.Interval.StartNanos
	if start <= t.state.LastNanos {
		return nil
	}
	t.state.LastNanos = start
	t.forget(start)
	diagnoses := r.DiagnosesByRegion()
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
		n := Notice{Fabric: r.Snapshot.Fabric, Time: schema.Instant(start), RegionID: region.ID, Region: *region, Diagnosis: diagnoses[region.ID], Event: Opened}
		if was != nil {
			was.Incident.Place = PlaceOf(&n.Region, n.Diagnosis)
		}
		there = append(there, n)
	}
	for _, n := range there {
		notices = append(notices, t.present(&n)...)
	}
	for _, s := range r.Silent { // they may exist unseen
		seen[keyOf(s.ID, s.Metric)] = true
	}
	if r.Network.Unknown == nil { // else any may
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

// present records a region that is present and returns the notices about it: none if nothing differs from the last
// notice.
func (t *Tracker) present(n *Notice) (notices []Notice) {
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

// ended returns notices for the regions that have been absent for endAfter intervals.
func (t *Tracker) ended(at schema.Instant, seen map[string]bool) (notices []Notice) {
	for key, o := range t.state.Open {
		if seen[key] {
			continue
		}
		if o.Missing++; o.Missing < endAfter {
			continue
		}
		n := o.Last
		n.Event, n.Time, n.RegionID, n.Incident = Ended, at, n.Region.ID, o.Incident.ID // RegionID: the saved state may predate it
		n.ID = idOf(&n)
		delete(t.state.Open, key)
		o.Incident.EndedNanos = int64(at)
		t.state.Ended = append(t.state.Ended, o.Incident)
		notices = append(notices, n)
	}
	return notices
}

func keyOf(region uint64, metric schema.Metric) string { return fmt.Sprintf("%d %s", region, metric) }

// below is the signature of a region below the minimum severity: falling below is
// announced once, changes there are not.
const below = "below"

// signsOf is the signature of a notice: a change of it is worth a new notice.
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

// idBytes is the length of an ID, in bytes of the hash.
const idBytes = 16

func idOf(n *Notice) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %d %d %s %s", n.Fabric, n.Time, n.Region.ID, n.Region.Metric, n.Event))
	return hex.EncodeToString(sum[:idBytes])
}
