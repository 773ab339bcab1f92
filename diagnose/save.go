package diagnose

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/internal/codec"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// savedFormat is the format of the stage's saved state; a row of the store names its version, too.
var savedFormat = codec.Format{Mark: "DIAG", Version: 11, Oldest: 1}

// The first versions with some content: formOfKept kept verdicts, formOfMeans the means of scores, formOfBottlenecks
// the link that lost rate, formOfRoots the roots of the last intervals and the onsets of kept verdicts, formOfParts the
// part of others in a region, formOfFloor what a fabric's readings stand for, formOfSlower whether the failed part of a
// kept verdict carries less, formOfBaselines what jobs moved before it. The history has more.
const (
	formOfKept, formOfMeans, formOfBottlenecks, formOfRoots = 2, 3, 4, 6
	formOfParts, formOfFloor, formOfSlower, formOfBaselines = 7, 8, 10, 11
)

// Save returns the learned state: jobs with their traffic (to one percent), failures, mitigations, the stall of those
// links that stalled, the load of links (about a byte per link and slot), the verdicts kept for when an onset leaves
// the window, the means of the scores of causes, the roots of the last intervals, and what readings of a grid stand
// for.
func (s *Stage) Save() schema.StageState {
	return schema.StageState{Stage: s.Name(), Version: int(savedFormat.Version), Bytes: savedFormat.Seal(s.code)}
}

// Load restores what Save returned into a new stage, under the same version of the fabric and the same
// configuration. It fails, and changes nothing, if the state is damaged or of another form.
func (s *Stage) Load(saved schema.StageState) error {
	loaded := newStage(s.graph, s.cfg)
	err := savedFormat.Reads(saved.Version)
	if err == nil {
		err = savedFormat.Open(saved.Bytes, loaded.code)
	}
	if err != nil {
		return fmt.Errorf("diagnose: %w", err)
	}
	*s = *loaded
	return nil
}

// Restore replays an interval that an earlier process stored, in order, after Load. It is diagnosed again, since
// verdicts rest on those before; its results were stored then.
func (s *Stage) Restore(r *schema.IntervalResult) {
	if r.Snapshot == nil || r.Snapshot.Links != s.graph.NumLinks() {
		return
	}
	stored := *r
	s.Step(&stored)
}

// code lists the fields, both ways.
func (s *Stage) code(c *codec.Coder) {
	s.history.Code(c)
	s.mitigation.Code(c)
	if c.Version() >= formOfKept {
		s.history.CodeSince(c)
		codeByRegion(c, s.earlier.kept, (*kept).code)
	}
	if c.Version() >= formOfMeans {
		codeByRegion(c, s.earlier.means, func(m *meanScores, c *codec.Coder) {
			m.code(c)
			s.codeBottleneck(c, &m.bottleneck)
		})
	}
	if c.Version() >= formOfRoots {
		codeByRegion(c, s.earlier.roots, (*rootVotes).code)
	}
	if c.Version() >= formOfFloor {
		for _, v := range [...]*float64{&s.floor.Below, &s.floor.At, &s.floor.Above} {
			c.Float(v)
		}
	}
}

// codeByRegion encodes or decodes values by region number, ascending.
func codeByRegion[T any](c *codec.Coder, known map[uint64]*T, code func(*T, *codec.Coder)) {
	regions := slices.Sorted(maps.Keys(known))
	codec.Each(c, &regions, func(_ int, id *uint64) {
		c.Uint(id, math.MaxUint64)
		of := known[*id]
		if c.Reading() {
			of = new(T)
		}
		code(of, c)
		if c.Reading() && !c.Failed() {
			known[*id] = of
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
	if c.Version() >= formOfSlower {
		c.Bool(&k.slower)
	}
	if c.Version() >= formOfBaselines {
		k.codeBaselines(c)
	}
}

// codeBaselines lists what jobs moved before, by job id.
func (k *kept) codeBaselines(c *codec.Coder) {
	jobs := slices.Sorted(maps.Keys(k.baselines))
	if c.Reading() {
		k.baselines = map[string]jobBaseline{}
	}
	codec.Each(c, &jobs, func(_ int, id *string) {
		c.Text(id)
		usual := k.baselines[*id]
		codec.Small(c, &usual.main, uint64(history.NumMeasured))
		c.Float(&usual.least)
		c.Float(&usual.first)
		k.baselines[*id] = usual
	})
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

// codeBottleneck codes the link of a grid that lost rate last, if there was one.
func (s *Stage) codeBottleneck(c *codec.Coder, n *root.Bottleneck) {
	known := n.Slower
	if c.Version() >= formOfBottlenecks {
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
