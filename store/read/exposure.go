package read

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/giverny/giverny/schema"
)

// JobExposure is a job that ended, with the worst congestion that touched it.
type JobExposure struct {
	JobID      string          `json:"job_id"`
	Name       string          `json:"name"`
	Nodes      int             `json:"nodes"`
	RunSeconds float64         `json:"run_seconds"`
	Worst      schema.Severity `json:"worst"`
	Highest    float64         `json:"highest_percent"` // mean of a region that touched it
}

// JobExposures returns the jobs that ended in a span, by start. A region of the metric (of
// any for NoMetric) touched a job if in some hour both existed at the same time and a link
// of the region in that hour begins or ends at a device of the job (Monet, section 5.3: an
// upper bound, because it ignores routes). Jobs and regions are matched here, not in the
// server: there, joining millions of pairs took twenty times as long.
func (f *Figures) JobExposures(ctx context.Context, metric schema.Metric) ([]JobExposure, error) {
	regions, err := rolledUp[regionPlace](ctx, f, "region_places", f.of(metric))
	if err != nil {
		return nil, err
	}
	jobs, err := limited[exposedJob](ctx, f.model, "exposed_jobs", f.args().with("limit", uint64(maxRows*10)))
	if err != nil {
		return nil, err
	}
	c := newContacts(jobs, int64(f.span.From))
	for len(regions) > 0 {
		version := regions[0].Version
		n := 1
		for n < len(regions) && regions[n].Version == version {
			n++
		}
		ends, err := limited[linkEnds](ctx, f.model, "link_ends", Args{"fabric": f.fabric, "version": version})
		if err != nil {
			return nil, err
		}
		for _, e := range ends { // there is one row
			c.touch(regions[:n], c.numbersOf(e.Begins), c.numbersOf(e.Ends))
		}
		regions = regions[n:]
	}
	return c.exposures, nil
}

const hourNanos = 3600e9

// regionPlace is a region in one hour.
type regionPlace struct {
	Version uint64  `ch:"graph_version"`
	Hour    int64   `ch:"hour"` // its start, seconds since 1970
	Worst   uint8   `ch:"worst"`
	Begin   int64   `ch:"begin"` // nanoseconds since 1970, like Until
	Until   int64   `ch:"until"`
	MaxMean float64 `ch:"max_mean"`
	Links   string  `ch:"members"` // link numbers, separated by commas
}

// exposedJob is a job that ended. Devices are names, joined by separator.
type exposedJob struct {
	ID      string `ch:"job_id"`
	Name    string `ch:"name"`
	Began   int64  `ch:"began"` // nanoseconds since 1970, like Ended
	Ended   int64  `ch:"ended"`
	Size    uint64 `ch:"size"`
	Devices string `ch:"devices"`
}

// linkEnds holds the names of the devices at the ends of links, by link number,
// joined by separator.
type linkEnds struct {
	Begins string `ch:"begins"`
	Ends   string `ch:"ends"`
}

const separator = "\x00"

// contacts determines which regions touched which jobs.
type contacts struct {
	jobs      []exposedJob
	devices   [][]int32       // device numbers of each job
	byHour    map[int64][]int // jobs that ran in an hour (seconds since 1970)
	numbers   map[string]int32
	near      []uint64 // by device number: bit set of the current regions with a link at it
	exposures []JobExposure
}

// newContacts returns contacts for jobs; hours before from (ns since 1970) are left out.
func newContacts(jobs []exposedJob, from int64) *contacts {
	c := &contacts{jobs: jobs, devices: make([][]int32, len(jobs)), byHour: map[int64][]int{}, numbers: map[string]int32{}, exposures: make([]JobExposure, len(jobs))}
	for i := range jobs {
		j := &jobs[i]
		c.exposures[i] = JobExposure{JobID: j.ID, Name: j.Name, Nodes: int(j.Size), RunSeconds: float64(j.Ended/1e6-j.Began/1e6) / 1e3}
		c.devices[i] = c.numbersOf(j.Devices)
		for hour := max(j.Began, from) / hourNanos; hour <= j.Ended/hourNanos; hour++ {
			c.byHour[hour*3600] = append(c.byHour[hour*3600], i)
		}
	}
	return c
}

// numbersOf returns the numbers of devices, and numbers new ones.
func (c *contacts) numbersOf(names string) []int32 {
	if names == "" {
		return nil
	}
	numbers := make([]int32, 0, strings.Count(names, separator)+1)
	for name := range strings.SplitSeq(names, separator) {
		n, known := c.numbers[name]
		if !known {
			n = int32(len(c.numbers))
			c.numbers[strings.Clone(name)] = n
			c.near = append(c.near, 0)
		}
		numbers = append(numbers, n)
	}
	return numbers
}

// touch matches jobs with regions of one version of the graph, sorted by hour. begins and
// ends are the devices at the ends of the links.
func (c *contacts) touch(regions []regionPlace, begins, ends []int32) {
	for len(regions) > 0 {
		n := 1 // at most as many as near has bits
		for n < min(len(regions), 64) && regions[n].Hour == regions[0].Hour {
			n++
		}
		if jobs := c.byHour[regions[0].Hour]; len(jobs) > 0 {
			c.touchHour(jobs, regions[:n], begins, ends)
		}
		regions = regions[n:]
	}
}

func (c *contacts) touchHour(jobs []int, regions []regionPlace, begins, ends []int32) {
	clear(c.near)
	for bit := range regions {
		for number := range strings.SplitSeq(regions[bit].Links, ",") {
			if link, err := strconv.Atoi(number); err == nil && link < len(begins) && link < len(ends) {
				c.near[begins[link]] |= 1 << bit
				c.near[ends[link]] |= 1 << bit
			}
		}
	}
	for _, i := range jobs {
		near := uint64(0)
		for _, device := range c.devices[i] {
			near |= c.near[device]
		}
		for bit := range regions {
			r := &regions[bit]
			if near&(1<<bit) == 0 || r.Begin >= c.jobs[i].Ended || r.Until <= c.jobs[i].Began {
				continue
			}
			e := &c.exposures[i]
			e.Worst, e.Highest = max(e.Worst, schema.Severity(r.Worst)), max(e.Highest, r.MaxMean)
		}
	}
}

// RunTime relates the run times of an application to the regions that touched its
// runs.
type RunTime struct {
	Name          string  `json:"name"`
	Nodes         int     `json:"nodes"`
	Runs          int     `json:"runs"`
	MedianSeconds float64 `json:"median_seconds"`
	WorstSeconds  float64 `json:"worst_seconds"`
	// Pearson correlation with the highest mean of a region that touched a run; nil if either is constant.
	Correlation *float64 `json:"correlation"`
}

// RunTimes returns the n applications with the most node time: jobs of one name and
// number of nodes with at least leastRuns runs (figure 4b).
func RunTimes(jobs []JobExposure, leastRuns, n int) []RunTime {
	type application struct {
		name  string
		nodes int
	}
	byApplication := map[application][]*JobExposure{}
	for i := range jobs {
		a := application{jobs[i].Name, jobs[i].Nodes}
		byApplication[a] = append(byApplication[a], &jobs[i])
	}
	type ranked struct {
		RunTime
		nodeSeconds float64
	}
	var all []ranked
	for a, runs := range byApplication {
		if len(runs) < leastRuns || a.name == "" {
			continue
		}
		slices.SortFunc(runs, func(a, b *JobExposure) int { return cmp.Compare(a.RunSeconds, b.RunSeconds) })
		times, levels, sum := make([]float64, len(runs)), make([]float64, len(runs)), 0.0
		for i, r := range runs {
			times[i], levels[i] = r.RunSeconds, r.Highest
			sum += r.RunSeconds
		}
		all = append(all, ranked{RunTime{a.name, a.nodes, len(runs), times[(len(times)-1)/2], times[len(times)-1], correlation(times, levels)}, sum * float64(a.nodes)})
	}
	slices.SortFunc(all, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.nodeSeconds, a.nodeSeconds), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Nodes, b.Nodes))
	})
	out := make([]RunTime, min(n, len(all)))
	for i := range out {
		out[i] = all[i].RunTime
	}
	return out
}

// correlation is the Pearson correlation of two lists of equal length; nil if one is constant.
func correlation(x, y []float64) *float64 {
	for _, values := range [][]float64{x, y} {
		if slices.Min(values) == slices.Max(values) { // the sums below need not be zero, by rounding
			return nil
		}
	}
	var sx, sy float64
	for i := range x {
		sx, sy = sx+x[i], sy+y[i]
	}
	mx, my := sx/float64(len(x)), sy/float64(len(y))
	var xx, yy, xy float64
	for i := range x {
		dx, dy := x[i]-mx, y[i]-my
		xx, yy, xy = xx+dx*dx, yy+dy*dy, xy+dx*dy
	}
	r := xy / math.Sqrt(xx*yy)
	return &r
}
