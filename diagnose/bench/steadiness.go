package bench

import (
	"math"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/scenario"
)

// Moment is an interval of an incident: the true stalls, and what was found.
type Moment struct {
	Interval  schema.Interval
	Truth     *scenario.Truth
	Regions   []schema.Region    // Low and above
	Diagnoses []schema.Diagnosis // by region; no class where there is none
}

// Mean is a mean over incidents with its standard error.
type Mean struct{ sum, squares, n float64 }

func (m *Mean) add(v float64) {
	if !math.IsNaN(v) {
		m.sum, m.squares, m.n = m.sum+v, m.squares+v*v, m.n+1
	}
}

// Value is the mean; NaN of nothing.
func (m Mean) Value() float64 { return m.sum / m.n }

// Error is the standard error of the mean.
func (m Mean) Error() float64 {
	return math.Sqrt(max(0, m.squares/m.n-m.Value()*m.Value()) / m.n)
}

// Steadiness sums up how steadily regions are tracked. A spell of a port or host that truly stalls links lasts from the
// first region found there until it stalls too few. Every incident has the same weight in each mean.
type Steadiness struct {
	Incidents       int
	Covered         Mean // share of the intervals of spells with a region that has most of the stalled links
	Identities      Mean // region IDs per spell
	IdentityChanges Mean // per hour of spells: the region ID changes
	RootChanges     Mean // per hour of spells, while the cause stays: the root changes
	VerdictChanges  Mean // per hour of spells, while the cause stays: the class or the first accused job changes
	Held            Mean // intervals per region in which none of its links stalls
	Noise           Mean // per hour: regions none of whose links ever stalls
}

// Add adds one incident.
func (s *Steadiness) Add(moments []Moment) {
	s.Incidents++
	var w watch
	for _, m := range metricsOf(moments) {
		for _, root := range rootsOf(moments) {
			w.root(moments, m, root)
		}
	}
	hours := w.hours
	if w.spells > 0 {
		s.Covered.add(w.covered / w.intervals)
		s.Identities.add(w.identities / w.spells)
		s.IdentityChanges.add(w.identityChanges / hours)
		s.RootChanges.add(w.rootChanges / hours)
		s.VerdictChanges.add(w.verdictChanges / hours)
	}
	s.addUnreal(moments)
}

// Merge adds the sums of another Steadiness.
func (s *Steadiness) Merge(o *Steadiness) {
	s.Incidents += o.Incidents
	for _, p := range [][2]*Mean{{&s.Covered, &o.Covered}, {&s.Identities, &o.Identities}, {&s.IdentityChanges, &o.IdentityChanges}, {&s.RootChanges, &o.RootChanges},
		{&s.VerdictChanges, &o.VerdictChanges}, {&s.Held, &o.Held}, {&s.Noise, &o.Noise}} {
		p[0].sum, p[0].squares, p[0].n = p[0].sum+p[1].sum, p[0].squares+p[1].squares, p[0].n+p[1].n
	}
}

// addUnreal counts region intervals without a stalled link: of regions that outlast the stall, and of regions that never
// were real.
func (s *Steadiness) addUnreal(moments []Moment) {
	type key struct {
		id     uint64
		metric schema.Metric
	}
	isReal, held := map[key]bool{}, map[key]int{}
	hours := 0.
	for i := range moments {
		m := &moments[i]
		hours += float64(m.Interval.DurationNanos) / 3600e9
		for r := range m.Regions {
			region := &m.Regions[r]
			k := key{region.ID, region.Metric}
			if m.stalls(region) {
				isReal[k] = true
			} else {
				held[k]++
			}
		}
	}
	noise, late := 0., 0.
	for k, n := range held {
		if isReal[k] {
			late += float64(n)
		} else {
			noise++
		}
	}
	s.Held.add(late / float64(len(isReal)))
	s.Noise.add(noise / hours)
}

// stalls reports whether a link of a region truly stalls.
func (m *Moment) stalls(region *schema.Region) bool {
	return slices.ContainsFunc(m.Truth.Links, func(l scenario.LinkTruth) bool {
		_, is := slices.BinarySearch(region.Links, l.Link)
		return is && stallOf(&l, region.Metric) >= schema.LowPercent
	})
}

func stallOf(l *scenario.LinkTruth, m schema.Metric) float64 {
	if m == schema.InqStall {
		return l.InqPercent
	}
	return l.CreditPercent
}

// metricsOf returns the metrics that have regions.
func metricsOf(moments []Moment) (metrics []schema.Metric) {
	for i := range moments {
		for r := range moments[i].Regions {
			if m := moments[i].Regions[r].Metric; !slices.Contains(metrics, m) {
				metrics = append(metrics, m)
			}
		}
	}
	return metrics
}

// rootsOf returns the ports and hosts that stall links.
func rootsOf(moments []Moment) (roots []string) {
	for i := range moments {
		for _, c := range moments[i].Truth.Causes {
			roots = append(roots, c.Roots...)
		}
	}
	slices.Sort(roots)
	return slices.Compact(roots)
}

// watch sums up the spells of an incident.
type watch struct {
	spells, intervals, hours, covered float64
	identities, identityChanges       float64
	rootChanges, verdictChanges       float64
	counts                            []int // by moment: links that the root stalls
	at                                []int // by moment: index of the region there, or -1
	ids                               []uint64
}

// leastHeldUp is how many links a root must stall for a spell to go on without a region.
const leastHeldUp = 4

// root counts the spells of one root in a metric.
func (w *watch) root(moments []Moment, metric schema.Metric, root string) {
	w.counts, w.at = w.counts[:0], w.at[:0]
	for i := range moments {
		n, region := moments[i].regionAt(metric, root)
		w.counts, w.at = append(w.counts, n), append(w.at, region)
	}
	for i := 0; i < len(moments); i++ {
		if w.counts[i] == 0 {
			continue
		}
		first, last := -1, -1
		for ; i < len(moments) && w.counts[i] > 0; i++ {
			if first < 0 && w.at[i] >= 0 {
				first = i
			}
			if first >= 0 && (w.at[i] >= 0 || w.counts[i] >= leastHeldUp) {
				last = i
			}
		}
		if first >= 0 {
			w.spell(moments[first:last+1], w.at[first:last+1], root)
		}
	}
}

// regionAt counts the links that a root stalls, and finds the region with most of them; -1 if none.
func (m *Moment) regionAt(metric schema.Metric, root string) (n, region int) {
	region = -1
	shared := make([]int, len(m.Regions))
	for i := range m.Truth.Links {
		l := &m.Truth.Links[i]
		if l.Root != root || stallOf(l, metric) < schema.LowPercent {
			continue
		}
		n++
		for r := range m.Regions {
			if _, has := slices.BinarySearch(m.Regions[r].Links, l.Link); has && m.Regions[r].Metric == metric {
				shared[r]++
			}
		}
	}
	for r, k := range shared {
		if k > 0 && 2*k >= n && (region < 0 || k > shared[region]) {
			region = r
		}
	}
	return n, region
}

func (w *watch) spell(moments []Moment, at []int, root string) {
	w.spells++
	w.ids = w.ids[:0]
	before := -1 // last moment with a region
	for i := range moments {
		m := &moments[i]
		w.intervals++
		w.hours += float64(m.Interval.DurationNanos) / 3600e9
		if at[i] < 0 {
			continue
		}
		w.covered++
		id := m.Regions[at[i]].ID
		if !slices.Contains(w.ids, id) {
			w.ids = append(w.ids, id)
			w.identities++
		}
		if before >= 0 {
			w.compare(&moments[before], at[before], m, at[i], root)
		}
		before = i
	}
}

// compare counts what has changed at a root since it last had a region.
func (w *watch) compare(was *Moment, regionWas int, now *Moment, region int, root string) {
	if was.Regions[regionWas].ID != now.Regions[region].ID {
		w.identityChanges++
	}
	if !sameCause(was.causeAt(root), now.causeAt(root)) {
		return
	}
	a, b := &was.Diagnoses[regionWas], &now.Diagnoses[region]
	if (a.Root == nil) != (b.Root == nil) || a.Root != nil && (a.Root.Device != b.Root.Device || a.Root.Port != b.Root.Port) {
		w.rootChanges++
	}
	if a.Cause.Class != b.Cause.Class || firstAccused(a) != firstAccused(b) {
		w.verdictChanges++
	}
}

func (m *Moment) causeAt(root string) *scenario.Cause {
	for i := range m.Truth.Causes {
		if c := &m.Truth.Causes[i]; slices.Contains(c.Roots, root) {
			return c
		}
	}
	return nil
}

func sameCause(a, b *scenario.Cause) bool {
	return a != nil && b != nil && a.Class == b.Class && a.Object == b.Object && slices.Equal(a.Jobs[:min(1, len(a.Jobs))], b.Jobs[:min(1, len(b.Jobs))])
}

func firstAccused(d *schema.Diagnosis) string {
	if len(d.Jobs) == 0 {
		return ""
	}
	return d.Jobs[0].JobID
}
