package tracking

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// The saved form: magic, version, body, CRC-32C of all before it. Numbers are
// varints, links differences, floats their 8 bytes, little-endian.
const (
	magic   = "GTRK"
	version = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrSaved says that bytes are no saved tracker, or one of another graph.
var ErrSaved = errors.New("not a saved tracker of this fabric: start without it, or restore the stored intervals")

// coder writes or reads fields: one description of the format for both ways.
type coder struct {
	buf     []byte
	reading bool
	err     error
}

func (c *coder) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
	c.buf = c.buf[:0]
}

// uint is a number of at most limit.
func (c *coder) uint(v *uint64, limit uint64) {
	if !c.reading {
		c.buf = binary.AppendUvarint(c.buf, *v)
		return
	}
	x, n := binary.Uvarint(c.buf)
	if n <= 0 || x > limit {
		c.fail("number %d, want at most %d, of %d bytes", x, limit, len(c.buf))
		x, n = 0, 0
	}
	*v, c.buf = x, c.buf[n:]
}

func (c *coder) int64(v *int64) {
	if !c.reading {
		c.buf = binary.AppendVarint(c.buf, *v)
		return
	}
	x, n := binary.Varint(c.buf)
	if n <= 0 {
		c.fail("a number is cut short")
		x, n = 0, 0
	}
	*v, c.buf = x, c.buf[n:]
}

func (c *coder) float(v *float64) {
	if !c.reading {
		c.buf = binary.LittleEndian.AppendUint64(c.buf, math.Float64bits(*v))
		return
	}
	*v = 0
	if len(c.buf) < 8 {
		c.fail("a value is cut short")
		return
	}
	x := math.Float64frombits(binary.LittleEndian.Uint64(c.buf))
	if !(math.Abs(x) < 1e300) {
		c.fail("value %v is not finite", x)
		return
	}
	*v, c.buf = x, c.buf[8:]
}

// small is a whole number of few bits, below limit.
func small[T ~uint8 | ~int | ~uint32](c *coder, v *T, limit uint64) {
	x := uint64(*v)
	c.uint(&x, limit-1)
	*v = T(x)
}

func (c *coder) bool(v *bool) {
	x := uint64(0)
	if *v {
		x = 1
	}
	c.uint(&x, 1)
	*v = x == 1
}

// count is the length of what follows, each of at least one byte.
func (c *coder) count(n int) int {
	x := uint64(n)
	c.uint(&x, uint64(len(c.buf)))
	return int(x)
}

func (c *coder) text(s *string) {
	n := c.count(len(*s))
	if !c.reading {
		c.buf = append(c.buf, *s...)
		return
	}
	if n > len(c.buf) {
		c.fail("a text of %d bytes is cut short", n)
		n = 0
	}
	*s, c.buf = string(c.buf[:n]), c.buf[n:]
}

// Save appends all that the tracker knows to buf, for Load.
func (t *Tracker) Save(buf []byte) []byte { return seal(buf, t.code) }

// seal appends what code writes, between mark and checksum.
func seal(buf []byte, code func(*coder)) []byte {
	begin := len(buf)
	c := coder{buf: append(append(buf, magic...), version)}
	code(&c)
	return binary.LittleEndian.AppendUint32(c.buf, crc32.Checksum(c.buf[begin:], castagnoli))
}

// unseal lets code read what seal has made of what code wrote.
func unseal(saved []byte, code func(*coder)) error {
	body := len(saved) - 4
	if body < len(magic)+1 || string(saved[:len(magic)]) != magic || saved[len(magic)] != version {
		return fmt.Errorf("%d bytes without the mark of version %d: %w", len(saved), version, ErrSaved)
	}
	if crc32.Checksum(saved[:body], castagnoli) != binary.LittleEndian.Uint32(saved[body:]) {
		return fmt.Errorf("the checksum does not fit: %w", ErrSaved)
	}
	c := coder{buf: saved[len(magic)+1 : body], reading: true}
	code(&c)
	if c.err == nil && len(c.buf) > 0 {
		c.fail("%d bytes are left over", len(c.buf))
	}
	if c.err != nil {
		return fmt.Errorf("%w: %w", c.err, ErrSaved)
	}
	return nil
}

// Load makes the tracker that was saved. It fails with ErrSaved if the bytes are
// damaged, of another form or of another version of the graph.
func Load(g *topology.Graph, cfg Config, saved []byte) (*Tracker, error) {
	t, err := New(g, cfg)
	if err != nil {
		return nil, err
	}
	if err := unseal(saved, t.code); err != nil {
		return nil, fmt.Errorf("tracking: load fabric %s: %w", t.fabric, err)
	}
	return t, nil
}

func (t *Tracker) code(c *coder) {
	fabric, graph := t.fabric, t.graphVersion
	c.text(&fabric)
	c.uint(&graph, math.MaxUint64)
	if fabric != t.fabric || graph != t.graphVersion {
		c.fail("it is of fabric %q, graph version %x", fabric, graph)
	}
	c.int64(&t.last.StartNanos)
	c.int64(&t.last.DurationNanos)
	if t.last.DurationNanos < 0 || t.last.EndNanos() < t.last.StartNanos {
		c.fail("the last interval has no length")
	}
	c.uint(&t.lastID, math.MaxUint64)
	n := c.count(len(t.tracks))
	if n > 0 && t.last.DurationNanos == 0 {
		c.fail("there are regions before the first interval")
	}
	for i := 0; i < n && c.err == nil; i++ {
		if c.reading {
			t.tracks = append(t.tracks, &track{})
		}
		t.tracks[i].code(c, t.match.numLinks)
		if i > 0 && t.tracks[i-1].id >= t.tracks[i].id {
			c.fail("the identities do not rise")
		}
	}
	t.network.code(c)
	t.model.next.code(c)
	t.model.later.code(c)
}

func (tr *track) code(c *coder, numLinks int) {
	c.uint(&tr.id, math.MaxUint64)
	small(c, &tr.metric, uint64(schema.NumMetrics))
	c.text(&tr.name)
	c.int64(&tr.birthNanos)
	c.int64(&tr.seenNanos)
	small(c, &tr.severity, uint64(len(schema.Severities)))
	small(c, &tr.told.severity, uint64(len(schema.Severities)))
	small(c, &tr.told.nearest, uint64(len(schema.Severities)))
	small(c, &tr.told.run, 1000)
	c.bool(&tr.merged)
	small(c, &tr.numMeans, trendSpan+1)
	for i := range tr.means[:tr.numMeans] {
		c.float(&tr.means[i])
	}
	previous := int64(-1)
	n := c.count(len(tr.links))
	for i := 0; i < n && c.err == nil; i++ {
		if c.reading {
			tr.links = append(tr.links, 0)
		}
		step := uint64(int64(tr.links[i]) - previous - 1)
		c.uint(&step, uint64(max(0, int64(numLinks)-previous-2)))
		previous += int64(step) + 1
		if previous >= int64(numLinks) {
			c.fail("link %d of %d", previous, numLinks)
		}
		tr.links[i] = schema.LinkID(previous)
	}
	n = c.count(len(tr.pending))
	for i := 0; i < n && c.err == nil; i++ {
		if c.reading {
			tr.pending = append(tr.pending, pending{})
		}
		tr.pending[i].code(c)
	}
}

func (p *pending) code(c *coder) {
	c.int64(&p.startNanos)
	small(c, &p.severity, uint64(len(schema.Severities)))
	c.float(&p.mean)
	c.float(&p.trend)
	small(c, &p.context.stretch, uint64(numStretches))
	small(c, &p.context.direction, directions)
	small(c, &p.context.age, ages)
	for i := range p.next {
		c.float(&p.next[i])
		c.float(&p.later[i])
	}
}

func (n *network) code(c *coder) {
	for m := range n.seen {
		c.bool(&n.seen[m])
		if !n.seen[m] && m != int(schema.NoMetric) {
			continue
		}
		small(c, &n.state[m], uint64(len(schema.Severities)))
		for i := range NumStates {
			for j := range NumStates {
				c.uint(&n.ofRegions[m][i][j], math.MaxUint64)
				c.uint(&n.ofNetwork[m][i][j], math.MaxUint64)
			}
		}
		for v := range schema.Severities {
			c.uint(&n.linkTime[m][v], math.MaxUint64)
			c.uint(&n.networkTime[m][v], math.MaxUint64)
		}
	}
	c.bool(&n.open)
	c.int64(&n.congestion.BeginNanos)
	c.int64(&n.congestion.EndNanos)
	c.bool(&n.congestion.Ended)
	c.float(&n.congestion.PeakMeanPercent)
}

func (h *horizon) code(c *coder) {
	for a := range h.byAge {
		h.byAge[a].code(c)
	}
	for s := range h.byStretch {
		h.byStretch[s].code(c)
		for d := range h.byContext[s] {
			for a := range h.byContext[s][d] {
				h.byContext[s][d][a].code(c)
			}
		}
	}
	for _, v := range []*float64{&h.trendSquares, &h.trendMoves, &h.errorSquares, &h.transitions, &h.brierSum, &h.persistentSum} {
		c.float(v)
	}
	if h.trendSquares < 0 || h.errorSquares < 0 || h.transitions < 0 {
		c.fail("a sum of squares is negative")
	}
	c.uint(&h.scored, math.MaxUint64)
}

func (o *outcomes) code(c *coder) {
	for i := range o {
		small(c, &o[i], memory+1)
	}
}
