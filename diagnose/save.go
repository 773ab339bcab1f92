package diagnose

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/internal/codec"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// form is the version of the stage's saved state, oldestForm the first that is still read. The others are the first versions with
// some content: formOfKept kept verdicts, formOfMeans the means of scores, formOfNecks the link that lost rate, formOfOutages the
// counts of outages, formOfRoots the roots of the last intervals and the onsets of kept verdicts, formOfParts the part of others in
// a region, formOfFloor what a fabric's readings stand for, formOfListed which jobs the traffic table has, formOfColumns which of
// their columns, and whether the failed part of a kept verdict carries less.
const form, oldestForm, formOfKept, formOfMeans, formOfNecks, formOfOutages, formOfRoots, formOfParts, formOfFloor, formOfListed, formOfColumns = 10, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10

var savedFormat = codec.Format{Mark: "DIAG", Version: form, Oldest: oldestForm}

// hotLevel is the stall, in any slot, from which a link's levels are saved; the others are restored as calm.
const hotLevel = uint8(schema.LowPercent * 5 / 2) // levelsPerPercent

// usedLevel is the same for the use of links.
const usedLevel = uint8(1)

// Save returns the learned state: jobs with their traffic (to one percent), failures, mitigations, the stall of those links
// that stalled, the load of links (about a byte per link and slot), the verdicts kept for when an onset leaves the window,
// the means of the scores of causes, the roots of the last intervals, and what readings of a grid stand for.
func (s *Stage) Save() schema.StageState {
	return schema.StageState{Stage: s.Name(), Version: form, Bytes: savedFormat.Seal(nil, s.code)}
}

// Load restores what Save returned into a new stage, under the same version of the fabric and the same
// configuration. It fails, and changes nothing, if the state is damaged or of another form.
func (s *Stage) Load(saved schema.StageState) error {
	if saved.Version < oldestForm || saved.Version > form {
		return fmt.Errorf("diagnose: state of form %d, this build reads %d to %d: %w", saved.Version, oldestForm, form, codec.ErrVersion)
	}
	loaded := &Stage{cfg: s.cfg, jobs: newJobTable(), tableSince: math.MaxInt64, means: map[uint64]*meanScores{}, roots: map[uint64]*rootVotes{}}
	loaded.setGraph(s.graph)
	if err := savedFormat.Open(saved.Bytes, loaded.code); err != nil {
		return fmt.Errorf("diagnose: %w", err)
	}
	*s = *loaded
	return nil
}

// Restore replays an interval that an earlier process stored, in order, after Load. It is diagnosed again, since verdicts
// rest on those before; its results were stored then.
func (s *Stage) Restore(r *schema.IntervalResult) {
	if r.Snapshot == nil || r.Snapshot.Links != s.graph.NumLinks() {
		return
	}
	stored := *r
	s.Step(&stored)
}

// code lists the fields, both ways.
func (s *Stage) code(c *codec.Coder) {
	window, links := uint64(s.cfg.Window), uint64(s.graph.NumLinks())
	was := [2]uint64{window, links}
	c.Uint(&was[0], math.MaxInt32)
	c.Uint(&was[1], math.MaxUint32)
	if was[1] != links {
		c.Damaged("it is of a fabric of %d links, this one has %d", was[1], links)
	}
	c.Int(&s.clock.duration)
	c.Int(&s.clock.first)
	c.Int(&s.clock.now)
	if s.clock.duration < 0 || s.clock.first > s.clock.now {
		c.Damaged("intervals of %d ns from %d to %d", s.clock.duration, s.clock.first, s.clock.now)
	}
	c.Bool(&s.measured)
	s.codeJobs(c)
	codec.Each(c, &s.failures, func(_ int, f *failure) { codeFailure(c, s.graph, f) })
	for m := range s.memory.metrics {
		if metric := schema.Metric(m); metric.IsStall() || metric == schema.BandwidthUsed {
			s.codeLevels(c, schema.Metric(m), was[0] == window)
		}
	}
	s.cme.Code(c)
	if c.Version() >= formOfKept {
		c.Int(&s.tableSince)
		codeByRegion(c, &s.kept, (*kept).code)
	}
	if c.Version() >= formOfMeans {
		codeByRegion(c, &s.means, func(m *meanScores, c *codec.Coder) {
			m.code(c)
			s.codeNeck(c, &m.neck)
		})
	}
	if c.Version() >= formOfRoots {
		codeByRegion(c, &s.roots, (*rootVotes).code)
	}
	if c.Version() >= formOfFloor {
		for _, v := range [...]*float64{&s.floor.Below, &s.floor.At, &s.floor.Above} {
			c.Float(v)
		}
	}
}

// codeByRegion encodes or decodes values by region number, ascending.
func codeByRegion[T any](c *codec.Coder, known *map[uint64]*T, code func(*T, *codec.Coder)) {
	regions := slices.Sorted(maps.Keys(*known))
	codec.Each(c, &regions, func(_ int, id *uint64) {
		c.Uint(id, math.MaxUint64)
		of := (*known)[*id]
		if c.Reading() {
			of = new(T)
		}
		code(of, c)
		if c.Reading() && !c.Failed() {
			if *known == nil {
				*known = map[uint64]*T{}
			}
			(*known)[*id] = of
		}
	})
}

// code lists the fields, both ways.
func (k *kept) code(c *codec.Coder) {
	c.Int((*int64)(&k.time))
	c.Text((*string)(&k.cause.Class))
	c.Float(&k.cause.Confidence)
	codec.Each(c, &k.jobs, func(_ int, a *schema.AccusedJob) {
		c.Text(&a.JobID)
		c.Text(&a.Feature)
		for _, v := range [...]*float64{&a.Blame, &a.Value, &a.Deviations, &a.Correlation, &a.LagSeconds, &a.PValue} {
			c.Float(v)
		}
	})
	codec.Each(c, &k.failures, func(_ int, f *schema.NearFailure) {
		c.Int((*int64)(&f.Time))
		c.Text((*string)(&f.Kind))
		c.Text(&f.Device)
		c.Text(&f.Port)
		codec.Small(c, &f.Hops, maxHops+1)
	})
	hasRoot := k.root != nil
	if c.Bool(&hasRoot); hasRoot {
		if k.root == nil {
			k.root = &schema.Root{}
		}
		codeRoot(c, k.root)
	}
	c.Text(&k.action)
	c.Text(&k.because)
	c.Int(&k.seen)
	if c.Version() >= formOfRoots {
		c.Int(&k.began)
	} else {
		k.began = k.seen
	}
	if c.Version() >= formOfColumns {
		c.Bool(&k.slower)
	}
}

// codeRoot saves a root without its link, which depends on the version of the fabric.
func codeRoot(c *codec.Coder, root *schema.Root) {
	for _, text := range [...]*string{&root.Device, &root.Port, &root.Peer, &root.Kind} {
		c.Text(text)
	}
	if c.Reading() {
		root.Link = schema.NoLink
	}
}

// code lists the fields, both ways.
func (m *meanScores) code(c *codec.Coder) {
	jobs := slices.Sorted(maps.Keys(m.jobs))
	if c.Reading() {
		m.jobs = map[string]float64{}
	}
	codec.Each(c, &jobs, func(_ int, id *string) {
		c.Text(id)
		mean := m.jobs[*id]
		c.Float(&mean)
		m.jobs[*id] = mean
	})
	for _, v := range [...]*float64{&m.failure, &m.host, &m.link, &m.intervals} {
		c.Float(v)
	}
	c.Int((*int64)(&m.failed))
	c.Int(&m.seen)
	if m.intervals < 0 || m.intervals > meanIntervals || m.intervals != math.Trunc(m.intervals) {
		c.Damaged("means over %v intervals", m.intervals)
	}
	if c.Version() >= formOfParts {
		c.Text(&m.accused)
		c.Float(&m.others)
		c.Float(&m.parts)
	}
}

// codeNeck codes the link of a grid that lost rate last, if there was one.
func (s *Stage) codeNeck(c *codec.Coder, n *root.Neck) {
	known := n.Slower
	if c.Version() >= formOfNecks {
		c.Bool(&known)
	}
	if !known {
		return
	}
	link, tail := uint64(n.Link), uint64(n.Tail)
	c.Uint(&link, uint64(s.graph.NumLinks())-1)
	c.Uint(&tail, uint64(s.graph.NumDevices())-1)
	n.Link, n.Tail, n.Slower = schema.LinkID(link), topology.DeviceID(tail), true
	for _, v := range [...]*float64{&n.Fit, &n.Waits, &n.Score, &n.Lost, &n.Share} {
		c.Float(v)
	}
	c.Bool(&n.Cannot)
	c.Bool(&n.Sole)
}

func (s *Stage) codeJobs(c *codec.Coder) {
	jobs := slices.Clone(s.jobs.all())
	codec.Each(c, &jobs, func(i int, j **job) {
		if c.Reading() {
			*j = new(job)
		}
		codeJob(c, &(*j).Job)
		s.codeTraffic(c, *j)
		if c.Reading() && !c.Failed() {
			s.adopt(*j)
		}
	})
}

// adopt adds a decoded job to the table.
func (s *Stage) adopt(j *job) {
	traffic := j.traffic
	s.jobs.upsert(s.graph, j.Job)
	for _, same := range s.jobs.byID[j.ID] {
		if same.Start == j.Start {
			same.traffic = traffic
		}
	}
}

func codeJob(c *codec.Coder, j *schema.Job) {
	for _, text := range [...]*string{&j.Fabric, &j.ID, &j.Name, &j.User, &j.State} {
		c.Text(text)
	}
	codec.Each(c, &j.Nodes, func(_ int, n *string) { c.Text(n) })
	c.Int((*int64)(&j.Start))
	c.Int((*int64)(&j.End))
}

// trafficSteps is the number of steps per doubling of the saved traffic.
const trafficSteps = 64

// codeTraffic saves the rings on a logarithmic scale, latest slot first.
func (s *Stage) codeTraffic(c *codec.Coder, j *job) {
	known := j.traffic != nil
	c.Bool(&known)
	if !known || c.Failed() {
		return
	}
	if c.Reading() {
		j.traffic = newTraffic(s.trafficLength(), s.clock.now)
	}
	listed := s.measured
	if c.Version() == formOfListed {
		c.Bool(&listed)
	}
	for f := range j.traffic.listed {
		if c.Version() >= formOfColumns {
			c.Bool(&j.traffic.listed[f])
		} else {
			j.traffic.listed[f] = listed
		}
	}
	for f := range numFeatures {
		values := make([]uint32, 0, s.trafficLength())
		for back := range int64(s.trafficLength()) {
			v, step := j.traffic.at(f, s.clock.now-back), uint32(0)
			if !isMissing(v) {
				step = 1 + uint32(math.Round(trafficSteps*math.Log2(1+float64(v))))
			}
			values = append(values, step)
		}
		for len(values) > 0 && values[len(values)-1] == 0 {
			values = values[:len(values)-1]
		}
		codec.Each(c, &values, func(back int, v *uint32) {
			codec.Small(c, v, 200*trafficSteps)
			if c.Reading() && *v > 0 {
				j.traffic.set(f, s.clock.now-int64(back), math.Exp2(float64(*v-1)/trafficSteps)-1)
			}
		})
	}
}

func codeFailure(c *codec.Coder, g *topology.Graph, f *failure) {
	kind := string(f.Kind)
	for _, text := range [...]*string{&f.Fabric, &kind, &f.Device, &f.Port, &f.Detail} {
		c.Text(text)
	}
	c.Int((*int64)(&f.Time))
	if c.Version() >= formOfOutages {
		codec.Small(c, &f.times, math.MaxInt32)
		c.Int((*int64)(&f.since))
	}
	if c.Reading() {
		f.Kind = schema.EventKind(kind)
		f.place(g)
	}
}

// codeLevels saves the slots of the links that stalled, or carried anything, in any of them. The others are
// restored as calm in the slots with any reading.
func (s *Stage) codeLevels(c *codec.Coder, m schema.Metric, sameWindow bool) {
	known := s.memory.metrics[m] != nil
	c.Bool(&known)
	if !known || c.Failed() {
		return
	}
	levels := s.memory.of(m)
	var seen []bool // by slot back from now
	var hot []schema.LinkID
	if !c.Reading() {
		least := hotLevel
		if m == schema.BandwidthUsed {
			least = usedLevel
		}
		seen, hot = levels.summary(s.clock.now, least)
	}
	codec.Each(c, &seen, func(_ int, v *bool) { c.Bool(v) })
	codec.Ascending(c, &hot, s.graph.NumLinks())
	if c.Reading() && !sameWindow {
		levels = newLevels(s.graph.NumLinks(), max(1, len(seen))) // decoded, and discarded
	}
	for back := range min(len(seen), levels.length) {
		row := levels.row(s.clock.now - int64(back))
		if c.Reading() && seen[back] {
			clear(row)
		}
		for _, l := range hot {
			codec.Small(c, &row[l], math.MaxUint8+1)
		}
	}
}

// summary returns the slots, back from now, with any reading, and the links that reached a level in any.
func (l *levels) summary(now int64, least uint8) (seen []bool, hot []schema.LinkID) {
	for back := range int64(l.length) {
		row := l.row(now - back)
		seen = append(seen, slices.ContainsFunc(row, func(v uint8) bool { return v != levelMissing }))
	}
	for link := range l.links {
		for slot := range l.length {
			if v := l.bytes[slot*l.links+link]; v >= least && v != levelMissing {
				hot = append(hot, schema.LinkID(link))
				break
			}
		}
	}
	return seen, hot
}
