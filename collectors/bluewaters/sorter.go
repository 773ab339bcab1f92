package bluewaters

import (
	"cmp"
	"math"
	"slices"

	"github.com/giverny/giverny/schema"
)

// slot is one minute of the whole torus.
type slot struct {
	minute int64
	rows   int
	seen   schema.Bitmap       // by switch
	values [][numValues]uint32 // by switch; undefined if not seen
}

// sorter is a reorder buffer: it groups rows by minute and releases each minute, in
// order, once it is behind the window (the watermark).
type sorter struct {
	cfg      *Config
	open     []*slot // ascending by minute
	free     []*slot // released slots, for reuse
	newest   int64   // the newest minute confirmed by enough rows
	released int64   // minutes up to this one have been released
	hold     bool    // release nothing before the end, regardless of the window
	strays   int64   // rows of discarded minutes
}

// never is before every minute, and far enough from the end of int64 to subtract from
// it.
const never = math.MinInt64 / 2

func newSorter(cfg *Config) *sorter { return &sorter{cfg: cfg, newest: never, released: never} }

const (
	// vouching is how many rows must report a minute before it counts as the newest: a
	// single broken clock must not make all other rows late.
	vouching = 8
	// maxAhead bounds the open minutes. If there are more, as when rows are few, the
	// oldest ones count as confirmed.
	maxAhead = 64
	// strayMinutes is the distance from the newest minute at which a minute with few
	// rows is attributed to a broken clock.
	strayMinutes = 2 * 24 * 60
)

// add adds a row to its minute. Of two readings of a switch the larger values count.
func (s *sorter) add(f *fields) (why Reason, ok bool) {
	z, y, x := int(f.coord[0]), int(f.coord[1]), int(f.coord[2])
	if x >= s.cfg.Dims[0] || y >= s.cfg.Dims[1] || z >= s.cfg.Dims[2] {
		return Outside, false
	}
	minute := minuteOf(f.unixSeconds, f.nanos)
	if minute <= s.released {
		return Late, false
	}
	m := s.slot(minute)
	if m == nil {
		return Unheld, false
	}
	n := x + s.cfg.Dims[0]*(y+s.cfg.Dims[1]*z)
	values := &m.values[n]
	if !m.seen.Has(n) {
		m.seen.Set(n)
		*values = f.values
	} else {
		for i, v := range &f.values {
			values[i] = max(values[i], v)
		}
	}
	m.rows++
	if minute > s.newest && m.rows >= min(vouching, s.cfg.switches()) {
		s.newest = minute
	}
	return 0, true
}

// maxHeldMinutes bounds the memory of a file sorted whole: a day file has 1,440 minutes, and times that are garbage would
// otherwise open a minute for each row.
const maxHeldMinutes = 2 * 24 * 60

// full reports whether minutes are complete that should be released before more rows are added.
func (s *sorter) full() bool { return !s.hold && len(s.open) > s.cfg.WindowMinutes+maxAhead }

// slot returns the slot of a minute, opening it if necessary; nil if too many are held.
func (s *sorter) slot(minute int64) *slot {
	if len(s.open) > 0 { // fast path: usually the open minutes are consecutive
		if i := minute - s.open[0].minute; i >= 0 && i < int64(len(s.open)) && s.open[i].minute == minute {
			return s.open[i]
		}
	}
	i, found := slices.BinarySearchFunc(s.open, minute, func(m *slot, minute int64) int { return cmp.Compare(m.minute, minute) })
	if found {
		return s.open[i]
	}
	if s.hold && len(s.open) >= maxHeldMinutes+s.cfg.WindowMinutes {
		return nil
	}
	m := s.newSlot(minute)
	s.open = slices.Insert(s.open, i, m)
	if ahead := len(s.open) - maxAhead; ahead > 0 {
		s.newest = max(s.newest, s.open[ahead-1].minute)
	}
	return m
}

func (s *sorter) newSlot(minute int64) *slot {
	if n := len(s.free); n > 0 {
		m := s.free[n-1]
		s.free = s.free[:n-1]
		m.minute, m.rows = minute, 0
		clear(m.seen)
		return m
	}
	n := s.cfg.switches()
	return &slot{minute: minute, seen: schema.NewBitmap(n), values: make([][numValues]uint32, n)}
}

// next returns the oldest minute that is complete, or with atEnd the oldest; nil if
// there is none. Return it with recycle.
func (s *sorter) next(atEnd bool) *slot {
	for len(s.open) > 0 && (atEnd || !s.hold && s.open[0].minute <= s.newest-int64(s.cfg.WindowMinutes)) {
		m := s.open[0]
		s.open = slices.Delete(s.open, 0, 1)
		if away := max(m.minute-s.newest, s.newest-m.minute); m.rows < vouching && s.newest != never && away > strayMinutes {
			s.strays += int64(m.rows)
			s.recycle(m)
			continue
		}
		s.released = m.minute
		return m
	}
	return nil
}

func (s *sorter) recycle(m *slot) { s.free = append(s.free, m) }

// fill fills a batch with the minute, six rows per switch.
func (m *slot) fill(b *schema.CounterBatch) {
	at := m.minute * intervalNanos
	b.TimeNanos, b.PortIndex = b.TimeNanos[:0], b.PortIndex[:0]
	credit, inq, used := b.Columns[0].Values[:0], b.Columns[1].Values[:0], b.Columns[2].Values[:0]
	for n := range m.values {
		if !m.seen.Has(n) {
			continue
		}
		v := &m.values[n]
		for d := range int(numDirections) {
			b.TimeNanos = append(b.TimeNanos, at)
			b.PortIndex = append(b.PortIndex, uint32(n*int(numDirections)+d))
			credit = append(credit, uint64(v[d]))
			inq = append(inq, uint64(v[d+int(numDirections)]))
			used = append(used, uint64(v[d+2*int(numDirections)]))
		}
	}
	b.Columns[0].Values, b.Columns[1].Values, b.Columns[2].Values = credit, inq, used
}
