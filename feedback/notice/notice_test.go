package notice_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"testing"

	"github.com/giverny/giverny/feedback/notice"
	"github.com/giverny/giverny/schema"
)

// epoch is the instant of minute 0: in 2026, not 1970, so that a time left unset is long ago.
const epoch = 1_767_571_200e9

func result(minute int64, regions ...schema.Region) *schema.IntervalResult {
	return &schema.IntervalResult{Regions: regions, Snapshot: &schema.Snapshot{Fabric: "ib0", Interval: schema.Interval{StartNanos: epoch + minute*60e9, DurationNanos: 60e9}}}
}

func minuteOf(r *schema.IntervalResult) int64 { return (r.Snapshot.Interval.StartNanos - epoch) / 60e9 }

func region(id uint64, s schema.Severity) schema.Region {
	return schema.Region{ID: id, Severity: s, Metric: schema.CreditStall}
}

func events(notices []notice.Notice) (out []string) {
	for _, n := range notices {
		out = append(out, string(n.Event)+" "+n.Region.Severity.String())
	}
	return out
}

func TestEvents(t *testing.T) {
	tracker, ids := notice.New(schema.Medium), map[string]bool{}
	diagnosed := result(4, region(1, schema.High))
	diagnosed.Diagnoses = []schema.Diagnosis{{Region: 1, Metric: schema.CreditStall, Cause: schema.Cause{Class: schema.CauseSystem}}}
	again := result(5, region(1, schema.High))
	again.Diagnoses = []schema.Diagnosis{{Region: 1, Metric: schema.CreditStall, Cause: schema.Cause{Class: schema.CauseSystem, Confidence: 0.5}}}
	unknown := result(7)
	unknown.Network.Unknown = &schema.Unknown{Reason: schema.NoInterval}
	silent := result(11)
	silent.Silent = []schema.SilentRegion{{ID: 1, Metric: schema.CreditStall, Severity: schema.High}}
	for _, step := range []struct {
		r    *schema.IntervalResult
		want []string
	}{
		{result(1, region(1, schema.Low)), nil},
		{result(2, region(1, schema.Medium), region(2, schema.High)), []string{"opened High", "opened Medium"}},
		{result(2, region(3, schema.High)), nil}, // processed before
		{result(3, region(1, schema.High), region(2, schema.High)), []string{"changed High"}},
		{diagnosed, []string{"changed High"}},                       // its cause is now known; region 2 is absent for the first time
		{again, []string{"ended High"}},                             // region 2 is absent for the second time
		{result(6, region(1, schema.Low)), []string{"changed Low"}}, // an announced region is followed below the minimum
		{unknown, nil},
		{result(8), nil},
		{result(9), []string{"ended Low"}},
		{result(10, region(1, schema.High)), []string{"opened High"}},
		{silent, nil}, // its readings stopped: that does not count as absent
		{result(12), nil},
		{result(13), []string{"ended High"}},
	} {
		if minuteOf(step.r) > 1 { // as after a restart
			saved, err := tracker.Save()
			if err != nil {
				t.Fatal(err)
			}
			tracker = notice.New(schema.Medium)
			if err := tracker.Load(saved); err != nil {
				t.Fatal(err)
			}
		}
		before, _ := tracker.Save()
		notices := tracker.Step(step.r)
		if got := events(notices); !slices.Equal(got, step.want) {
			t.Errorf("minute %d: %v, want %v", minuteOf(step.r), got, step.want)
		}
		for _, n := range notices {
			if ids[n.ID] || len(n.ID) != 32 {
				t.Errorf("id %q of %s comes twice", n.ID, n.Event)
			}
			ids[n.ID] = true
		}
		twin := notice.New(schema.Medium) // the same step from the same state gives the same notices
		if err := twin.Load(before); err != nil {
			t.Fatal(err)
		}
		for i, n := range twin.Step(step.r) {
			if n.ID != notices[i].ID {
				t.Errorf("id %s, again %s", notices[i].ID, n.ID)
			}
		}
	}
}

// A region announced as High falls below the minimum: this is announced once, changes
// below are not, its return and its end are.
func TestBelowTheLeastSeverity(t *testing.T) {
	tracker := notice.New(schema.High)
	cause := func(minute int64, class schema.CauseClass) *schema.IntervalResult {
		r := result(minute, region(1, schema.Medium))
		r.Diagnoses = []schema.Diagnosis{{Region: 1, Metric: schema.CreditStall, Cause: schema.Cause{Class: class}}}
		return r
	}
	for _, step := range []struct {
		r    *schema.IntervalResult
		want []string
	}{
		{result(1, region(1, schema.Medium)), nil},
		{result(2, region(1, schema.High)), []string{"opened High"}},
		{cause(3, schema.CauseSystem), []string{"changed Medium"}},
		{cause(4, schema.CauseFailure), nil},
		{result(5, region(1, schema.Low)), nil},
		{result(6, region(1, schema.Medium)), nil},
		{result(7, region(1, schema.High)), []string{"changed High"}},
		{result(8, region(1, schema.Low)), []string{"changed Low"}},
		{result(9), nil},
		{result(10), []string{"ended Low"}},
	} {
		if got := events(tracker.Step(step.r)); !slices.Equal(got, step.want) {
			t.Errorf("minute %d: %v, want %v", minuteOf(step.r), got, step.want)
		}
	}
}

// A change of the cause, the first job, the root or a deadlock is a notice; one of another job or of the confidence is not.
func TestWhatIsAChange(t *testing.T) {
	tracker := notice.New(schema.Medium)
	jobs := func(ids ...string) (list []schema.AccusedJob) {
		for _, id := range ids {
			list = append(list, schema.AccusedJob{JobID: id})
		}
		return list
	}
	root, other := &schema.Root{Device: "leaf7", Port: "9"}, &schema.Root{Device: "leaf7", Port: "8"}
	cycle := []schema.PortName{{Device: "leaf0", Port: "1"}}
	system := schema.Cause{Class: schema.CauseSystem}
	for minute, step := range []struct {
		diagnosis schema.Diagnosis
		want      notice.Event
	}{
		{schema.Diagnosis{Cause: system}, notice.Opened},
		{schema.Diagnosis{Cause: schema.Cause{Class: schema.CauseSystem, Confidence: .9}}, ""},
		{schema.Diagnosis{Cause: system, Jobs: jobs("1", "2")}, notice.Changed},
		{schema.Diagnosis{Cause: system, Jobs: jobs("1")}, ""},
		{schema.Diagnosis{Cause: system, Jobs: jobs("2", "1")}, notice.Changed},
		{schema.Diagnosis{Cause: system, Jobs: jobs("2"), Root: root}, notice.Changed},
		{schema.Diagnosis{Cause: system, Jobs: jobs("2"), Root: other}, notice.Changed},
		{schema.Diagnosis{Cause: system, Jobs: jobs("2"), Root: other, Cycle: cycle}, notice.Changed},
		{schema.Diagnosis{Cause: system, Jobs: jobs("2"), Root: other}, notice.Changed},
		{schema.Diagnosis{Cause: schema.Cause{Class: schema.CauseFailure}, Jobs: jobs("2"), Root: other}, notice.Changed},
	} {
		r := result(int64(minute), region(1, schema.High))
		step.diagnosis.Region, step.diagnosis.Metric = 1, schema.CreditStall
		r.Diagnoses = []schema.Diagnosis{step.diagnosis}
		var got notice.Event
		for _, n := range tracker.Step(r) {
			got += n.Event
		}
		if got != step.want {
			t.Errorf("step %d: %q, want %q", minute, got, step.want)
		}
	}
}

// A region with negligible stall counts as absent, also while it is announced.
func TestANegligibleRegionIsAbsent(t *testing.T) {
	tracker := notice.New(schema.Medium)
	for minute, want := range [][]string{{"opened High"}, nil, {"ended High"}} {
		severity := schema.Negligible
		if minute == 0 {
			severity = schema.High
		}
		if got := events(tracker.Step(result(int64(minute), region(1, severity)))); !slices.Equal(got, want) {
			t.Errorf("minute %d: %v, want %v", minute, got, want)
		}
	}
}

// A region has ended once it is absent in two successive intervals; one it is seen in between starts the count again, and
// the notice of the end has its last values.
func TestAbsentTwiceInSuccession(t *testing.T) {
	tracker := notice.New(schema.Medium)
	last := region(1, schema.High)
	last.Size = 7
	for minute, step := range []struct {
		r    *schema.IntervalResult
		want []string
	}{
		{result(0, region(1, schema.High)), []string{"opened High"}},
		{result(1), nil},
		{result(2, last), nil},
		{result(3), nil},
		{result(4), []string{"ended High"}},
	} {
		notices := tracker.Step(step.r)
		if got := events(notices); !slices.Equal(got, step.want) {
			t.Errorf("minute %d: %v, want %v", minute, got, step.want)
		}
		if minute == 4 && len(notices) == 1 && notices[0].Region.Size != 7 {
			t.Errorf("ended as %+v, want its last values", notices[0].Region)
		}
	}
	for _, damaged := range []string{"", "{", `{"open":{"1 credit_stall":null}}`} {
		if err := tracker.Load([]byte(damaged)); err == nil {
			t.Errorf("the state %q is loaded", damaged)
		}
	}
}

// The ID is also a string, as in diagnosis.region, for readers that round large numbers.
func TestRegionIDAsText(t *testing.T) {
	const id = 1882497176567809<<2 + 1 // exceeds the precision of a float64
	r := result(1, region(id, schema.High))
	r.Diagnoses = []schema.Diagnosis{{Region: id, Metric: schema.CreditStall}}
	text, err := json.Marshal(notice.New(schema.High).Step(r)[0])
	if err != nil {
		t.Fatal(err)
	}
	var n struct {
		RegionID  string `json:"region_id"`
		Region    struct{ ID uint64 }
		Diagnosis struct{ Region string }
	}
	if err := json.Unmarshal(text, &n); err != nil || n.RegionID != n.Diagnosis.Region || n.RegionID != strconv.Itoa(id) || n.Region.ID != id {
		t.Errorf("%s: %v, want %d as text in region_id and in diagnosis.region", text, err, id)
	}
}
