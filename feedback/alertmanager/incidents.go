package alertmanager

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/giverny/giverny/feedback/notice"
	"github.com/giverny/giverny/schema"
)

// regionKey is a region of a fabric.
type regionKey struct {
	fabric string
	id     uint64
	metric schema.Metric
}

// incident is the trouble that a region is part of.
type incident struct {
	notice.Place
	label string // the id of its first region; a region keeps it, as a changed label is another alert
	seen  time.Time
}

// incidents are those of the regions that are there, or were lately.
type incidents map[regionKey]*incident

// follow finds the incidents of a result's regions: a region that comes is of that of one with the same root or cycle of
// waiting ports, the oldest first.
func (in incidents) follow(r *schema.IntervalResult, least schema.Severity, now time.Time) {
	maps.DeleteFunc(in, func(_ regionKey, i *incident) bool { return now.Sub(i.seen) > keepResolved })
	diagnoses := diagnosesOf(r)
	var there []*schema.Region
	for i := range r.Regions {
		if region := &r.Regions[i]; region.Severity >= least && region.ID != 0 {
			there = append(there, region)
		}
	}
	slices.SortFunc(there, func(a, b *schema.Region) int {
		return cmp.Or(cmp.Compare(a.BirthNanos, b.BirthNanos), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Metric, b.Metric))
	})
	for _, region := range there {
		key := regionKey{r.Snapshot.Fabric, region.ID, region.Metric}
		place := notice.PlaceOf(region, diagnoses[regionKey{id: region.ID, metric: region.Metric}])
		if in[key] == nil {
			in[key] = &incident{label: in.labelOf(key, &place)}
		}
		in[key].Place, in[key].seen = place, now
	}
}

// labelOf is the label of a region that comes.
func (in incidents) labelOf(key regionKey, place *notice.Place) string {
	var first *incident
	for k, i := range in {
		if k.fabric == key.fabric && i.Shares(place) && (first == nil || i.label < first.label) {
			first = i
		}
	}
	if first != nil {
		return first.label
	}
	return strconv.FormatUint(key.id, 10)
}
