package read

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/giverny/giverny/schema"
)

// More regions of one hour than a word has bits, of two graph versions, touch each job as
// if checked one by one.
func TestContactsAgreeWithPairs(t *testing.T) {
	const devices, from = 9, 2 * int64(hourNanos)
	name := func(n int) string { return fmt.Sprint("n", n) }
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(label string, low, high int) int { return rapid.IntRange(low, high).Draw(rt, label) }
		var jobs []exposedJob
		for i := range 6 {
			j := exposedJob{ID: name(i), Began: int64(draw("began", 0, 40)) * 600e9, Size: uint64(draw("size", 0, 3))}
			j.Ended = from + int64(draw("run", 0, 30))*600e9
			var nodes []string
			for range j.Size {
				nodes = append(nodes, name(draw("device", 0, devices+3))) // some are not at any link
			}
			j.Devices = strings.Join(nodes, separator)
			if j.Ended > j.Began {
				jobs = append(jobs, j)
			}
		}
		want := newContacts(jobs, from).exposures
		got := newContacts(jobs, from)
		for version := range 2 {
			var begins, ends []string
			for l := range devices {
				begins, ends = append(begins, name(l)), append(ends, name((l+1+version)%devices))
			}
			var regions []regionPlace
			for hour := int64(1); hour < 7; hour++ {
				for range draw("regions", 0, 1) * draw("many", 1, 150) {
					link, first := draw("link", 0, devices+1), hour*hourNanos+int64(draw("first", 0, 5))*600e9 // some links are not known
					r := regionPlace{Hour: hour * 3600, Worst: uint8(draw("worst", 1, 3)), Begin: first, Until: first + int64(draw("intervals", 1, 3))*600e9, MaxMean: float64(draw("mean", 5, 90)), Links: fmt.Sprint(link, ",", (link+4)%devices)}
					regions = append(regions, r)
				}
			}
			touchPairs(want, jobs, regions, begins, ends, from)
			got.touch(regions, got.numbersOf(strings.Join(begins, separator)), got.numbersOf(strings.Join(ends, separator)))
		}
		if diff := gocmp.Diff(want, got.exposures); diff != "" {
			rt.Error(diff)
		}
	})
}

func touchPairs(exposures []JobExposure, jobs []exposedJob, regions []regionPlace, begins, ends []string, from int64) {
	for i, j := range jobs {
		for _, r := range regions {
			if r.Begin >= j.Ended || r.Until <= j.Began || r.Hour < max(j.Began, from)/hourNanos*3600 || r.Hour > j.Ended/1e9 {
				continue
			}
			for number := range strings.SplitSeq(r.Links, ",") {
				var link int
				fmt.Sscan(number, &link)
				at := strings.Split(j.Devices, separator)
				if link < len(begins) && (slices.Contains(at, begins[link]) || slices.Contains(at, ends[link])) {
					exposures[i].Worst, exposures[i].Highest = max(exposures[i].Worst, schema.Severity(r.Worst)), max(exposures[i].Highest, r.MaxMean)
				}
			}
		}
	}
}

func TestRunTimes(t *testing.T) {
	runs := []JobExposure{{Name: "app", Nodes: 4, RunSeconds: 100}, {Name: "app", Nodes: 4, RunSeconds: 300}, {Name: "app", Nodes: 4, RunSeconds: 200}, {Name: "rare", Nodes: 9, RunSeconds: 100}}
	calm := RunTimes(runs, 3, 10)
	if want := []RunTime{{Name: "app", Nodes: 4, Runs: 3, MedianSeconds: 200, WorstSeconds: 300}}; !reflect.DeepEqual(calm, want) {
		t.Errorf("runs that no region touched: %+v", calm)
	}
	runs[1].Highest, runs[2].Highest = 40, 20
	if got := RunTimes(runs, 3, 10); got[0].Correlation == nil || math.Abs(*got[0].Correlation-1) > 1e-9 {
		t.Errorf("runs that take longer the more they are stalled: %+v", got)
	}
	for i := range runs {
		runs[i].Highest = 29.1 // the mean of three of these is not 29.1 in binary
	}
	if got := RunTimes(runs, 3, 10); got[0].Correlation != nil {
		t.Errorf("runs that are all stalled alike have a correlation of %v", *got[0].Correlation)
	}
}
