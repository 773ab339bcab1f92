package notice_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/giverny/giverny/feedback/notice"
	"github.com/giverny/giverny/schema"
)

func rooted(id uint64, device string) schema.Region {
	r := region(id, schema.High)
	r.Root = &schema.Root{Device: device, Port: "9", Link: schema.NoLink}
	return r
}

// A region that reappears at the same root within an hour belongs to the same incident;
// at another root, or later, to a new one.
func TestAFlapIsOneIncident(t *testing.T) {
	tracker := notice.New(schema.Medium)
	incidents := map[uint64]string{}
	for _, step := range []struct {
		minute int64
		region schema.Region
		same   uint64 // the region whose incident it joins
	}{
		{1, rooted(1, "leaf7"), 1},
		{5, rooted(2, "leaf7"), 1},
		{9, rooted(3, "leaf8"), 3},
		{13, rooted(4, "leaf7"), 1},
		{77, rooted(5, "leaf7"), 5}, // 4 ended at 15
		{81, region(6, schema.High), 6},
	} {
		for i, r := range []*schema.IntervalResult{result(step.minute, step.region), result(step.minute + 1), result(step.minute + 2)} {
			saved, err := tracker.Save()
			if err != nil {
				t.Fatal(err)
			}
			tracker = notice.New(schema.Medium)
			if err := tracker.Load(saved); err != nil {
				t.Fatal(err)
			}
			for _, n := range tracker.Step(r) {
				if n.Event == notice.Opened {
					incidents[n.Region.ID] = n.Incident
				}
				if want := incidents[step.same]; n.Incident != want || want == "" {
					t.Errorf("minute %d: region %d %s in incident %q, want %q", step.minute+int64(i), n.Region.ID, n.Event, n.Incident, want)
				}
			}
		}
	}
	if incidents[1] == incidents[3] || incidents[1] == incidents[5] {
		t.Errorf("different incidents are one: %v", incidents)
	}
}

// Regions share a place if they have the same root port, if a link leads from one root to the other, or if they wait in the
// same cycle; having any root, link or cycle is not enough.
func TestPlacesShared(t *testing.T) {
	at := func(device, port string, link schema.LinkID) notice.Place {
		return notice.PlaceOf(&schema.Region{Root: &schema.Root{Device: device, Port: port, Link: link}}, nil)
	}
	cycle := func(device string) notice.Place {
		return notice.PlaceOf(&schema.Region{}, &schema.Diagnosis{Cycle: []schema.PortName{{Device: device, Port: "1"}}})
	}
	for name, c := range map[string]struct {
		a, b notice.Place
		want bool
	}{
		"same port":            {at("leaf7", "9", 4), at("leaf7", "9", 5), true},
		"both ends of a link":  {at("leaf7", "9", 4), at("spine2", "1", 4), true},
		"different links":      {at("leaf7", "9", 4), at("spine2", "1", 5), false},
		"unknown links":        {at("leaf7", "9", schema.NoLink), at("spine2", "1", schema.NoLink), false},
		"ports of one switch":  {at("leaf7", "9", 4), at("leaf7", "8", 5), false},
		"unknown ports":        {at("leaf7", "", 4), at("leaf7", "", 4), false},
		"same cycle":           {cycle("leaf0"), cycle("leaf0"), true},
		"different cycles":     {cycle("leaf0"), cycle("leaf1"), false},
		"no place":             {notice.Place{}, notice.Place{}, false},
		"a root, and a cycle":  {at("leaf7", "9", 4), cycle("leaf7"), false},
		"a root, and no place": {at("leaf7", "9", 4), notice.Place{}, false},
	} {
		if c.a.Shares(&c.b) != c.want || c.b.Shares(&c.a) != c.want {
			t.Errorf("%s: want %v", name, c.want)
		}
	}
}

// Regions of one interval with the same root are one incident, which ends with the last
// of them; the two ends of a cable are one root.
func TestOneCableIsOneIncident(t *testing.T) {
	for id := uint64(1); id < 20; id++ { // for various orders of the notices' IDs, which are hashes
		oneCable(t, id)
	}
}

func oneCable(t *testing.T, id uint64) {
	t.Helper()
	tracker := notice.New(schema.Medium)
	ends := []schema.Region{rooted(id, "leaf7"), rooted(id+1, "leaf7"), rooted(id+2, "spine2")}
	for i := range ends {
		ends[i].Root.Link = 904
	}
	notices := tracker.Step(result(1, ends...))
	for minute := int64(2); minute < 6; minute++ {
		notices = append(notices, tracker.Step(result(minute, ends[:max(0, 4-minute)]...))...)
	}
	var left []int
	for _, n := range notices {
		left = append(left, n.IncidentRegions)
		if n.Incident != notices[0].Incident {
			t.Errorf("region %d %s in incident %q, want %q", n.Region.ID, n.Event, n.Incident, notices[0].Incident)
		}
	}
	if want := []int{3, 3, 3, 2, 1, 0}; !slices.Equal(left, want) {
		t.Errorf("open regions %v, want %v", left, want)
	}
}

// Two regions known to wait for each other are one incident from then on, that of the
// older one.
func TestADeadlockIsOneIncident(t *testing.T) {
	tracker := notice.New(schema.Medium)
	first := tracker.Step(result(1, region(7, schema.High)))
	tracker.Step(result(2, region(7, schema.High), region(3, schema.High)))
	r := result(3, region(3, schema.High), region(7, schema.High))
	for _, id := range []uint64{3, 7} {
		r.Diagnoses = append(r.Diagnoses, schema.Diagnosis{Region: id, Metric: schema.CreditStall,
			Cycle: []schema.PortName{{Device: "leaf0", Port: "1"}, {Device: "leaf1", Port: "2"}}})
	}
	changed := tracker.Step(r)
	if got, want := events(changed), []string{"moved High", "changed High", "changed High"}; len(first) != 1 || !slices.Equal(got, want) {
		t.Fatalf("%d opened, then %v, want %v", len(first), got, want)
	}
	changed = changed[1:]
	r = result(4, region(3, schema.Low), region(7, schema.Low))
	for _, n := range append(changed, tracker.Step(r)...) {
		if n.Event != notice.Changed || n.Incident != first[0].ID {
			t.Errorf("region %d %s in incident %q, want %q", n.Region.ID, n.Event, n.Incident, first[0].ID)
		}
	}
}

// A region whose root turns out to be that of an older incident moves there, and the incident that it leaves is
// reported to have no more regions.
func TestAMovedRegionLeavesNoTicketOpen(t *testing.T) {
	tracker := notice.New(schema.Medium)
	open := map[string]int{} // number of regions by incident, as counted by a receiver
	ids := map[string]bool{}
	for minute, regions := range [][]schema.Region{
		{rooted(1, "leaf7"), rooted(2, "leaf8"), rooted(3, "leaf8")},
		{rooted(1, "leaf7"), rooted(2, "leaf7"), rooted(3, "leaf8")},
		{rooted(1, "leaf7"), rooted(2, "leaf7"), rooted(3, "leaf7")},
		nil,
		nil,
	} {
		r := result(int64(minute)+1, regions...)
		for i := range regions {
			r.Diagnoses = append(r.Diagnoses, schema.Diagnosis{Region: regions[i].ID, Metric: schema.CreditStall, Root: regions[i].Root})
		}
		for _, n := range tracker.Step(r) {
			open[n.Incident] = n.IncidentRegions
			if ids[n.ID] {
				t.Errorf("minute %d: two notices %s", minute, n.ID)
			}
			ids[n.ID] = true
			if (n.Event == notice.Moved) != (n.MovedTo != "") {
				t.Errorf("minute %d: %s to %q", minute, n.Event, n.MovedTo)
			}
		}
		if want := []int{2, 2, 1, 1, 0}[minute]; len(open) != 2 || count(open) != want {
			t.Errorf("minute %d: regions by incident %v, want %d open", minute, open, want)
		}
	}
}

// count is the number of incidents with regions.
func count(open map[string]int) (n int) {
	for _, regions := range open {
		n += min(regions, 1)
	}
	return n
}

// The state saved by a version without incidents can be loaded.
func TestIncidentOfAnOldState(t *testing.T) {
	tracker := notice.New(schema.Medium)
	if err := tracker.Load([]byte(`{"last_nanos":60000000000,"open":{"1 credit_stall":{"last":{"id":"ab","event":"opened","time":"1970-01-01T00:01:00Z","region":{"id":1,"severity":"High","metric":"credit_stall"}},"signs":"High","missing":0}}}`)); err != nil {
		t.Fatal(err)
	}
	notices := append(tracker.Step(result(2)), tracker.Step(result(3))...)
	if len(notices) != 1 || notices[0].Event != notice.Ended || notices[0].Incident != "ab" {
		t.Errorf("%+v", notices)
	}
}

// In a storm of short regions the state stays small, and the newest incidents in it.
func TestAStormOfIncidents(t *testing.T) {
	tracker, id := notice.New(schema.Medium), uint64(0)
	storm := func(minute int64) *schema.IntervalResult {
		r := result(minute)
		for range 300 {
			id++
			r.Regions = append(r.Regions, schema.Region{ID: id, Severity: schema.High, Root: &schema.Root{Device: fmt.Sprint("leaf", id%300), Port: fmt.Sprint(minute)}})
		}
		return r
	}
	for minute := range int64(20) {
		tracker.Step(storm(minute))
	}
	var state struct{ Ended []json.RawMessage }
	text, err := tracker.Save()
	if err = errors.Join(err, json.Unmarshal(text, &state)); err != nil || len(state.Ended) < 4096 || len(state.Ended) > 5000 {
		t.Errorf("%d ended incidents, %v", len(state.Ended), err)
	}
	again := storm(20)
	again.Regions = again.Regions[:1]
	again.Regions[0].Root.Port = "17" // of a region that ended in the last interval
	for _, n := range tracker.Step(again) {
		if n.Event == notice.Opened && n.Incident == n.ID {
			t.Errorf("opened as %+v, want it in an earlier incident", n)
		}
	}
}
