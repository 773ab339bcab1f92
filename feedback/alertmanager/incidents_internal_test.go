package alertmanager

import (
	"testing"
	"time"

	"github.com/giverny/giverny/schema"
)

// Regions that wait for the same port, such as the pauses received and sent by a switch, share a label to group by. It
// does not change when the first region ends or a root changes.
func TestRegionsOfOneRootAreOneIncident(t *testing.T) {
	region := func(id uint64, metric schema.Metric, port string) schema.Region {
		return schema.Region{ID: id, Metric: metric, Severity: schema.High, BirthNanos: int64(id), Root: &schema.Root{Device: "leaf7", Port: port, Link: schema.NoLink}}
	}
	rx, tx := schema.PFCPauseRx(3), schema.PFCPauseTx(3)
	in := incidents{}
	for i, step := range []struct {
		minutes time.Duration
		fabric  string
		regions []schema.Region
		want    []string
	}{
		{0, "ib0", []schema.Region{region(12, tx, "1"), region(9, rx, "1"), region(13, rx, "2")}, []string{"9", "9", "13"}},
		{0, "ib1", []schema.Region{region(20, rx, "1")}, []string{"20"}}, // the port of another fabric
		{1, "ib0", []schema.Region{region(12, tx, "1"), region(14, rx, "1"), region(13, rx, "1")}, []string{"9", "9", "13"}},
		{1, "ib0", []schema.Region{region(16, rx, "1")}, []string{"9"}}, // of the two incidents with this root, the older one
		{60, "ib0", []schema.Region{region(15, rx, "1")}, []string{"15"}},
	} {
		r := &schema.IntervalResult{Snapshot: &schema.Snapshot{Fabric: step.fabric}, Regions: step.regions}
		for j, alert := range in.alerts(r, schema.Medium, "", time.Unix(0, 0).Add(step.minutes*time.Minute)) {
			if got := alert.Labels["incident"]; got != step.want[j] {
				t.Errorf("step %d, region %s: incident %q, want %q", i, alert.Labels["region"], got, step.want[j])
			}
		}
	}
	if len(in) != 1 {
		t.Errorf("%d regions are remembered, want 1", len(in))
	}
}
