package collective

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/collective/network"
)

// traffic is what is known about who sent when through which ports.
type traffic struct {
	net    *fabric
	t      *table
	list   []*stream          // all streams, the collective's first
	own    map[[2]int]*stream // the collective's flows by source and destination host
	others []*stream
	cut    int                  // number of flows omitted from others
	of     map[[2]int][]*stream // others by source and destination
	steps  []*stream            // the stream of each step; nil where the hosts are unknown

	packetBytes int64 // see packetSize
	senders
}

// queueStat is the queue found by packets, summed over them.
type queueStat struct{ queue, packets int64 }

// stream is the flow between a pair of hosts: all steps of the collective between them,
// or one background flow.
type stream struct {
	*network.Pair
	curve    []sample                   // bytes sent so far, by time
	seen     []network.Port             // each port once, ordered once all records are read
	way      *network.Route             // see traffic.route
	queues   map[network.Port]queueStat // of a background flow
	steps    []int32                    // of the collective: its steps by time
	number   int                        // in traffic.list
	recorded bool                       // its begin and end are recorded
	shared   *sharedLink                // see commonLink; nil until computed
	culprit  string                     // see asCulprit; empty until asked for
}

// asCulprit is a stream's identity as a culprit.
func (s *stream) asCulprit() string {
	if s.culprit == "" {
		s.culprit = "flow " + s.Name
	}
	return s.culprit
}

type sample struct{ time, bytes int64 }

func newTraffic(t *table, net *fabric) *traffic {
	tr := &traffic{net: net, t: t, own: map[[2]int]*stream{}, of: map[[2]int][]*stream{}}
	if len(net.Nodes) == 0 {
		return tr
	}
	tr.packetBytes = packetSize(t.run.Telemetry)
	tr.collective(t)
	tr.background(t.run)
	for _, s := range tr.others {
		pair := [2]int{s.Source, s.Destination}
		tr.of[pair] = append(tr.of[pair], s)
	}
	for i := range t.run.Telemetry {
		tr.see(&t.run.Telemetry[i])
	}
	for _, p := range t.run.Paths {
		if s := tr.own[[2]int{p.Source, p.Destination}]; s != nil {
			for _, at := range p.Ports {
				s.sawAt(at)
			}
		}
	}
	for _, s := range tr.others {
		s.tidySeen()
		tr.forwards(s)
	}
	for _, s := range tr.own {
		s.tidySeen()
		tr.list = append(tr.list, s)
	}
	slices.SortFunc(tr.list, func(a, b *stream) int { return (a.Source-b.Source)*len(net.Nodes) + a.Destination - b.Destination })
	tr.list = append(tr.list, tr.others...)
	tr.senders = newSenders(tr)
	for _, of := range net.observed.All() {
		slices.SortStableFunc(of.reads, func(a, b *PortReport) int { return cmp.Compare(a.LastNanos, b.LastNanos) })
	}
	return tr
}

// route returns what is known of a stream's path, computed at first use.
func (tr *traffic) route(s *stream) *network.Route {
	if s.way == nil {
		s.way = tr.net.Way(s.Pair, s.seen)
	}
	return s.way
}

// nearSights is how many ports back sawAt looks: most paths are no longer.
const nearSights = 8

// sawAt records a port at which a switch saw the stream.
func (s *stream) sawAt(p network.Port) {
	if n := len(s.seen); !slices.Contains(s.seen[max(n-nearSights, 0):], p) {
		s.seen = append(s.seen, p)
	}
}

func (s *stream) tidySeen() {
	slices.SortFunc(s.seen, network.ComparePorts)
	s.seen = slices.Compact(s.seen)
}

// passes reports whether a stream may pass a port.
func (tr *traffic) passes(s *stream, at network.Port) bool {
	return slices.Contains(tr.route(s).Ports, at)
}

func (tr *traffic) name(node int) string {
	return tr.net.NodeName(node)
}

func (tr *traffic) newStream(source, destination int) *stream {
	return &stream{Pair: tr.net.Pair(source, destination)}
}

// collective creates a stream for each pair of hosts that the steps connect.
func (tr *traffic) collective(t *table) {
	tr.steps = make([]*stream, len(t.steps))
	for i := range t.steps {
		r := &t.steps[i]
		if r.Peer < 0 {
			continue
		}
		from, to := t.run.Ranks[r.Rank].Host, t.run.Ranks[r.Peer].Host
		if from < 0 || to < 0 || from >= len(tr.net.Nodes) || to >= len(tr.net.Nodes) || from == to {
			continue
		}
		s := tr.own[[2]int{from, to}]
		if s == nil {
			s = tr.newStream(from, to)
			tr.own[[2]int{from, to}] = s
		}
		s.steps = append(s.steps, int32(i))
		tr.steps[i] = s
	}
	for _, s := range tr.own {
		slices.SortStableFunc(s.steps, func(a, b int32) int { return cmp.Compare(t.begin[a], t.begin[b]) })
	}
}

// see records the flows' ports and queues from a report.
func (tr *traffic) see(p *PortReport) {
	at := network.Port{Node: p.Switch, Port: p.Port}
	of := tr.net.observed.At(at)
	of.reads = append(of.reads, p)
	for _, f := range p.Flows {
		if s := tr.own[[2]int{f.Source, f.Destination}]; s != nil && f.Collective {
			s.sawAt(at)
		}
		if f.Collective {
			continue
		}
		for _, s := range tr.of[[2]int{f.Source, f.Destination}] {
			s.sawAt(at)
			if s.queues == nil {
				s.queues = map[network.Port]queueStat{}
			}
			q := s.queues[at]
			s.queues[at] = queueStat{q.queue + f.QueueSum, q.packets + f.Packets}
		}
	}
}

// tidy makes the curve increase with time.
func (s *stream) tidy() {
	slices.SortStableFunc(s.curve, func(a, b sample) int { return cmp.Compare(a.time, b.time) })
	kept := s.curve[:0]
	for _, x := range s.curve {
		if n := len(kept); n > 0 && (x.bytes < kept[n-1].bytes || x.time == kept[n-1].time) {
			continue
		}
		kept = append(kept, x)
	}
	s.curve = kept
}

func (s *stream) last() sample { return s.curve[len(s.curve)-1] }

// rateOf is the rate between two samples in bytes per nanosecond, or otherwise if undefined.
func rateOf(a, b sample, otherwise float64) float64 {
	if b.time > a.time && b.bytes > a.bytes {
		return float64(b.bytes-a.bytes) / float64(b.time-a.time)
	}
	return otherwise
}

// extend adds the end of a flow of known size without a recorded end, at the last
// observed rate, or half the line rate.
func (s *stream) extend(bytes, lineRate int64) {
	rate := float64(lineRate) / 16 / 1e9
	last := s.last()
	if n := len(s.curve); n > 1 {
		rate = rateOf(s.curve[n-2], last, rate)
	}
	if left := bytes - last.bytes; left > 0 {
		s.curve = append(s.curve, sample{last.time + int64(float64(left)/rate), bytes})
	}
}

// backwards adds the begin of a flow that was already running when first seen.
func (s *stream) backwards(lineRate int64) {
	first := s.curve[0]
	rate := float64(lineRate) / 16 / 1e9
	if len(s.curve) > 1 {
		rate = rateOf(first, s.curve[1], rate)
	}
	if first.bytes > 0 {
		s.curve = append([]sample{{first.time - int64(float64(first.bytes)/rate), 0}}, s.curve...)
	}
}

// forwards adds the end of a flow that only switches saw: half-way to the first report
// of one of its ports that no longer lists it, at the last observed rate.
func (tr *traffic) forwards(s *stream) {
	if s.recorded || len(s.curve) < 2 {
		return
	}
	last := s.last()
	gone := int64(0)
	for _, at := range s.seen {
		for _, r := range tr.net.observed.At(at).reads {
			if r.EpochNanos > last.time && !r.lists(s) && (gone == 0 || r.EpochNanos < gone) {
				gone = r.EpochNanos
			}
		}
	}
	if gone > 0 {
		rate := rateOf(s.curve[len(s.curve)-2], last, 0)
		half := (gone - last.time) / 2
		s.curve = append(s.curve, sample{last.time + half, last.bytes + int64(rate*float64(half))})
	}
}

func (p *PortReport) lists(s *stream) bool {
	return slices.ContainsFunc(p.Flows, func(f FlowReport) bool {
		return f.Source == s.Source && f.Destination == s.Destination && !f.Collective
	})
}

// sent is how many bytes a flow sent in a time range.
func (s *stream) sent(from, to int64) int64 { return s.at(to) - s.at(from) }

func (s *stream) at(time int64) int64 {
	i, exact := slices.BinarySearchFunc(s.curve, time, func(x sample, t int64) int { return cmp.Compare(x.time, t) })
	switch {
	case exact:
		return s.curve[i].bytes
	case i == 0:
		return 0
	case i == len(s.curve):
		return s.last().bytes
	}
	a, b := s.curve[i-1], s.curve[i]
	return a.bytes + int64(float64(b.bytes-a.bytes)*float64(time-a.time)/float64(b.time-a.time))
}

// bytes is how much a stream sent in a time range; collective steps are assumed to send
// at a constant rate.
func (tr *traffic) bytes(s *stream, from, to int64) int64 {
	if s.steps == nil {
		return s.sent(from, to)
	}
	if i, ok := tr.placeOf(s, from, to); ok {
		return tr.answer[i].bytes
	}
	return 0
}
