package tracking

import (
	"fmt"
	"math"

	"github.com/giverny/giverny/internal/codec"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// format is the format of saved Trackers and Hotspots. Version 4 adds the reported state of regions; version 3 stores metrics
// by name and the graph's version in the hotspots, and omits totals that the store has. Versions 2 and 3 can still be read.
var format = codec.Format{Mark: "GTRK", Version: 4, Oldest: 2}

// metricsOfVersion2 is the number of metrics when they were saved by number.
const metricsOfVersion2 = 28

// Save returns the tracker's state, for Load.
func (t *Tracker) Save() []byte { return format.Seal(t.code) }

// Load restores a saved tracker. It fails if the data is damaged, in another format, or
// of another fabric or version of the graph.
func Load(g *topology.Graph, cfg Config, saved []byte) (*Tracker, error) {
	t, err := New(g, cfg)
	if err != nil {
		return nil, err
	}
	if err := format.Open(saved, t.code); err != nil {
		return nil, fmt.Errorf("tracking: load the tracker of fabric %s: %w", g.Fabric(), err)
	}
	return t, nil
}

func otherVersion(saved, current uint64) error {
	return fmt.Errorf("it was saved under version %016x of the graph, not %016x", saved, current)
}

func (t *Tracker) code(c *codec.Coder) {
	fabric, version := t.fabric, t.graphVersion
	c.Text(&fabric)
	c.Uint(&version, math.MaxUint64)
	switch {
	case c.Failed():
	case fabric != t.fabric:
		c.Fail(fmt.Errorf("it is of fabric %q", fabric))
	case version != t.graphVersion:
		c.Fail(otherVersion(version, t.graphVersion))
	}
	c.Int(&t.last.StartNanos)
	c.Int(&t.last.DurationNanos)
	if t.last.DurationNanos < 0 || t.last.EndNanos() < t.last.StartNanos {
		c.Damaged("the last interval has no length")
	}
	c.Uint(&t.lastID, math.MaxUint64)
	codec.Each(c, &t.tracks, func(i int, tr **track) {
		if c.Reading() {
			*tr = &track{}
		}
		(*tr).code(c, t.match.numLinks)
		if i > 0 && t.tracks[i-1].id >= (*tr).id {
			c.Damaged("the identities do not increase")
		}
	})
	if len(t.tracks) > 0 && t.last.DurationNanos == 0 {
		c.Damaged("there are regions before the first interval")
	}
	t.network.code(c)
	t.model.next.code(c)
	t.model.later.code(c)
}

func (tr *track) code(c *codec.Coder, numLinks int) {
	c.Uint(&tr.id, math.MaxUint64)
	codeMetric(c, &tr.metric)
	c.Text(&tr.name)
	c.Int(&tr.birthNanos)
	c.Int(&tr.seenNanos)
	codeSeverity(c, &tr.severity)
	codeSeverity(c, &tr.debounce.reported)
	codeSeverity(c, &tr.debounce.nearest)
	codec.Small(c, &tr.debounce.run, 1000)
	c.Bool(&tr.merged)
	tr.reporting.code(c, tr.merged)
	codec.Small(c, &tr.numMeans, trendSpan+1)
	for i := range tr.means[:tr.numMeans] {
		c.Float(&tr.means[i])
	}
	codec.Ascending(c, &tr.links, numLinks)
	codec.Each(c, &tr.pending, func(_ int, p *pending) { p.code(c) })
}

func (p *reporting) code(c *codec.Coder, merged bool) {
	if c.Version() < 4 { // births and merges were reported immediately
		if p.reported = asApart; merged {
			p.reported = asMerged
		}
		return
	}
	codec.Small(c, &p.reported, uint64(numReported))
	codec.Small(c, &p.run, 1000*hoverFactor+1)
	c.Int(&p.sinceNanos)
	c.Uint(&p.parent, math.MaxUint64)
	c.Text(&p.merging)
}

func codeMetric(c *codec.Coder, m *schema.Metric) {
	if c.Version() < 3 {
		codec.Small(c, m, metricsOfVersion2)
		return
	}
	name := m.String()
	c.Text(&name)
	if !c.Reading() || name == "" {
		return
	}
	var err error
	if *m, err = schema.ParseMetric(name); err != nil {
		c.Damaged("%v", err)
	}
}

func codeSeverity(c *codec.Coder, s *schema.Severity) { codec.Small(c, s, uint64(severities)) }

func (p *pending) code(c *codec.Coder) {
	c.Int(&p.startNanos)
	codeSeverity(c, &p.severity)
	c.Float(&p.mean)
	c.Float(&p.trend)
	codec.Small(c, &p.bucket.meanBin, uint64(numMeanBins))
	codec.Small(c, &p.bucket.direction, directions)
	codec.Small(c, &p.bucket.age, ages)
	for i := range p.next {
		c.Float(&p.next[i])
		c.Float(&p.later[i])
	}
}

func (n *network) code(c *codec.Coder) {
	if c.Version() < 3 {
		n.readVersion2(c)
	} else {
		codeSeverity(c, &n.severity)
		for from := range n.counts {
			for to := range n.counts[from] {
				c.Uint(&n.counts[from][to], math.MaxUint64)
			}
		}
	}
	c.Bool(&n.open)
	c.Int(&n.congestion.BeginNanos)
	c.Int(&n.congestion.EndNanos)
	c.Bool(&n.congestion.Ended)
	c.Float(&n.congestion.PeakMeanPercent)
}

// readVersion2 reads a table per metric: the severity, the transitions of regions and of the network, and totals of time.
// Only the severity and the network's transitions over all metrics, at NoMetric, are kept.
func (n *network) readVersion2(c *codec.Coder) {
	for m := range metricsOfVersion2 {
		seen, severity, ignored := false, schema.Negligible, uint64(0)
		if c.Bool(&seen); !seen && m != int(schema.NoMetric) {
			continue
		}
		codeSeverity(c, &severity)
		var counts [schema.NumStates][schema.NumStates]uint64
		for from := range counts {
			for to := range counts[from] {
				c.Uint(&ignored, math.MaxUint64)
				c.Uint(&counts[from][to], math.MaxUint64)
			}
		}
		for range 2 * severities {
			c.Uint(&ignored, math.MaxUint64)
		}
		if m == int(schema.NoMetric) {
			n.severity = severity
			for from := range n.counts {
				copy(n.counts[from][:], counts[from][:])
			}
		}
	}
}

func (l *leadTime) code(c *codec.Coder) {
	for a := range l.byAge {
		l.byAge[a].code(c)
	}
	for s := range l.byMeanBin {
		l.byMeanBin[s].code(c)
		for d := range l.byBucket[s] {
			for a := range l.byBucket[s][d] {
				l.byBucket[s][d][a].code(c)
			}
		}
	}
	for _, v := range []*float64{&l.trendSquares, &l.trendMoves, &l.errorSquares, &l.transitions, &l.brierSum, &l.persistentSum} {
		c.Float(v)
	}
	if l.trendSquares < 0 || l.errorSquares < 0 || l.transitions < 0 {
		c.Damaged("a sum of squares is negative")
	}
	c.Uint(&l.scored, math.MaxUint64)
}

func (o *outcomes) code(c *codec.Coder) {
	for i := range o {
		codec.Small(c, &o[i], maxSamples+1)
	}
}
