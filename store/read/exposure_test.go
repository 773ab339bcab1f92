package read

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store"
)

// historyJobs are drawn jobs; their links are those of a ring of as many devices as links.
type historyJobs []schema.Job

func ringDevice(n, links int) string { return fmt.Sprintf("d%d", n%links) }

// ringGraph is the ring's graph, of the version of drawn intervals.
func ringGraph(fabric string, links int) store.Graph {
	g := store.Graph{Fabric: fabric, Version: 1}
	for l := range links {
		g.Devices = append(g.Devices, store.Device{Name: ringDevice(l, links), Kind: "switch"})
		g.Links = append(g.Links, store.Link{FromDevice: ringDevice(l, links), FromPort: "1", ToDevice: ringDevice(l+1, links), ToPort: "2", CapacityBytesPerSecond: 1, Up: true})
	}
	return g
}

// drawJob draws a job that may end before, in or after the hours around it.
func drawJob(rt *rapid.T, fabric string, id, links int) schema.Job {
	start := int64(historyFirst+rapid.IntRange(-9, historyIntervals).Draw(rt, "job start")) * historyStep
	j := schema.Job{Fabric: fabric, ID: fmt.Sprint(id), Name: "app", Start: schema.Instant(start + 1)}
	if run := rapid.IntRange(0, 12).Draw(rt, "job run"); run > 0 {
		j.End = schema.Instant(start + int64(run)*historyStep)
	}
	for _, device := range rapid.SliceOfNDistinct(rapid.IntRange(0, 6), 0, 3, rapid.ID).Draw(rt, "job devices") {
		j.Nodes = append(j.Nodes, ringDevice(device, links))
	}
	return j
}

// exposures are the naive computation: each job against each region of each hour, both
// looked up interval by interval.
func (h history) exposures(jobs historyJobs, span Span) (out []JobExposure) {
	type place struct{ hour, region int64 }
	regions := map[place]*regionPlace{}
	devices := map[place][]string{}
	for _, r := range h.in(span) {
		start, links := r.Snapshot.Interval.StartNanos, r.Snapshot.Links
		for _, g := range r.Regions {
			p := place{start / hourNanos, int64(g.ID)}
			if regions[p] == nil {
				regions[p] = &regionPlace{Begin: start}
			}
			regions[p].Worst, regions[p].MaxMean, regions[p].Until = max(regions[p].Worst, uint8(g.Severity)), max(regions[p].MaxMean, g.Mean), start+historyStep
			for _, l := range g.Links {
				devices[p] = append(devices[p], ringDevice(int(l), links), ringDevice(int(l)+1, links))
			}
		}
	}
	for _, j := range jobs {
		if j.End <= j.Start || j.End < span.From || j.End >= span.To || j.Start >= span.To {
			continue
		}
		e := JobExposure{JobID: j.ID, Name: j.Name, Nodes: len(j.Nodes), RunSeconds: float64(int64(j.End)/1e6-int64(j.Start)/1e6) / 1e3}
		for p, g := range regions {
			meets := slices.ContainsFunc(j.Nodes, func(device string) bool { return slices.Contains(devices[p], device) })
			if meets && g.Worst > 0 && g.Begin < int64(j.End) && g.Until > int64(j.Start) {
				e.Worst, e.Highest = max(e.Worst, schema.Severity(g.Worst)), max(e.Highest, g.MaxMean)
			}
		}
		out = append(out, e)
	}
	starts := map[string]schema.Instant{}
	for _, j := range jobs {
		starts[j.ID] = j.Start
	}
	slices.SortFunc(out, func(a, b JobExposure) int {
		if starts[a.JobID] != starts[b.JobID] {
			return int(starts[a.JobID] - starts[b.JobID])
		}
		return strings.Compare(a.JobID, b.JobID)
	})
	return out
}

// More regions of one hour than a word has bits, of two versions of the graph, touch each
// job as they do one by one.
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
				nodes = append(nodes, name(draw("device", 0, devices+3))) // some are at no link
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
