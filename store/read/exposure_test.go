//go:build engine || integration

package read

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store"
)

// historyJobs are drawn jobs; the links form a ring of as many devices as links.
type historyJobs []schema.Job

func ringDevice(n, links int) string { return fmt.Sprintf("d%d", n%links) }

// ringGraph is the ring's graph, with the version of drawn intervals.
func ringGraph(fabric string, links int) store.Graph {
	g := store.Graph{Fabric: fabric, Version: 1}
	for l := range links {
		g.Devices = append(g.Devices, store.Device{Name: ringDevice(l, links), Kind: "switch"})
		g.Links = append(g.Links, store.Link{FromDevice: ringDevice(l, links), FromPort: "1", ToDevice: ringDevice(l+1, links), ToPort: "2", CapacityBytesPerSecond: 1, Up: true})
	}
	return g
}

// drawJob draws a job that may end before, in or after the drawn hours.
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

// exposures is the naive computation: each job against each region of each hour, both
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
