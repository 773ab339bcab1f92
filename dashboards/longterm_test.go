package dashboards

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

// Intervals count with the length they had, even if the configuration has changed since.
func TestStepsOfIntervalsOfTwoLengths(t *testing.T) {
	const second = schema.Instant(time.Second)
	states := []read.NetworkAt{{Time: 0, Length: time.Minute, Severity: schema.High}, {Time: 60 * second, Length: 10 * time.Second, Severity: schema.Low},
		{Time: 70 * second, Length: 10 * time.Second, Unknown: schema.LowCoverage}, {Time: 300 * second, Length: 10 * time.Second}}
	want := []read.NetworkStep{{Seconds: [4]float64{0, 10, 0, 60}, Unknown: 10}, {Begin: 300 * second, Seconds: [4]float64{10}}}
	if diff := cmp.Diff(want, sumSteps(states, 5*time.Minute)); diff != "" {
		t.Error(diff)
	}
}
