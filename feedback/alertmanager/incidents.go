package alertmanager

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/giverny/giverny/feedback/notice"
	"github.com/giverny/giverny/schema"
)

// regionKey identifies a region.
type regionKey struct {
	fabric string
	id     uint64
}

// incident groups the regions that have one cause.
type incident struct {
	notice.Place
	id   uint64 // of its first region; fixed per region, because a changed label makes a new alert
	seen time.Time
}

// incidents are those of current and recent regions.
type incidents map[regionKey]*incident

// follow assigns the regions of a result, in order of birth, to incidents: a new region joins that of a region with the
// same root or cycle of waiting ports (of several, the one with the lowest ID), or starts its own.
func (in incidents) follow(r *schema.IntervalResult, least schema.Severity, now time.Time) {
	maps.DeleteFunc(in, func(_ regionKey, i *incident) bool { return now.Sub(i.seen) > keepResolved })
	diagnoses := r.DiagnosesByRegion()
	var there []*schema.Region
	for i := range r.Regions {
		if region := &r.Regions[i]; region.Severity >= least && region.ID != 0 {
			there = append(there, region)
		}
	}
	slices.SortFunc(there, func(a, b *schema.Region) int {
		return cmp.Or(cmp.Compare(a.BirthNanos, b.BirthNanos), cmp.Compare(a.ID, b.ID))
	})
	for _, region := range there {
		key := regionKey{r.Snapshot.Fabric, region.ID}
		place := notice.PlaceOf(region, diagnoses[region.ID])
		if in[key] == nil {
			in[key] = &incident{id: in.idFor(key, &place)}
		}
		in[key].Place, in[key].seen = place, now
	}
	if len(in) > maxResolved { // each new region is compared with all
		maps.DeleteFunc(in, func(key regionKey, i *incident) bool { return key.fabric == r.Snapshot.Fabric && i.seen.Before(now) })
	}
}

// idFor returns the ID of the incident that a new region belongs to.
func (in incidents) idFor(key regionKey, place *notice.Place) uint64 {
	id, found := key.id, false
	for k, i := range in {
		if k.fabric == key.fabric && i.Shares(place) && (!found || i.id < id) {
			id, found = i.id, true
		}
	}
	return id
}
