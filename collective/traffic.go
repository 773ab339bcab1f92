package collective

import "slices"

// traffic is what is known of who sent when through which ports.
type traffic struct {
	net    *network
	t      *table
	list   []*stream          // all streams, the collective's first
	own    map[[2]int]*stream // the collective's flows by source and destination host
	others []*stream
	of     map[[2]int][]*stream // others by source and destination
	steps  []*stream            // of each step its stream; nil where the hosts are unknown

	packetBytes int64 // see packetSize
	senders
}

// queueStat is the queue that packets found, summed over them.
type queueStat struct{ queue, packets int64 }

// stream is the flow of one pair of hosts: of the collective all its steps, or one
// background flow.
type stream struct {
	*pair
	curve    []sample           // bytes sent so far, by time
	seen     []port             // in order once all is read, each once
	way      *route             // see traffic.route
	queues   map[port]queueStat // of a background flow
	steps    []int32            // of the collective: its steps by time
	number   int                // in traffic.list
	recorded bool               // its begin and end are recorded
	shared   *sharedLink        // see commonLink; nil until asked for
}

type sample struct{ time, bytes int64 }

// maxOthers bounds the background flows that are looked at.
const maxOthers = 4096

// flowKey is how telemetry names a flow.
type flowKey struct{ source, destination, sourcePort, destinationPort int }

func newTraffic(t *table, net *network) *traffic {
	tr := &traffic{net: net, t: t, own: map[[2]int]*stream{}, of: map[[2]int][]*stream{}}
	if len(net.Nodes) == 0 {
		return tr
	}
	tr.packetBytes = packetSize(t.run.Telemetry)
	tr.collective(t)
	tr.background(t.run)
	for _, s := range tr.others {
		pair := [2]int{s.source, s.destination}
		tr.of[pair] = append(tr.of[pair], s)
	}
	for i := range t.run.Telemetry {
		tr.see(&t.run.Telemetry[i])
	}
	for _, p := range t.run.Paths {
		if s := tr.own[[2]int{p.Source, p.Destination}]; s != nil {
			for _, at := range p.Ports {
				s.sawAt(port{at.Node, at.Port})
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
	slices.SortFunc(tr.list, func(a, b *stream) int { return (a.source-b.source)*len(net.Nodes) + a.destination - b.destination })
	tr.list = append(tr.list, tr.others...)
	tr.senders = newSenders(tr)
	for i := range net.observed.list {
		slices.SortStableFunc(net.observed.list[i].value.reads, func(a, b *PortReport) int { return compare(a.LastNanos, b.LastNanos) })
	}
	return tr
}

// route is what is known of a stream's way, found when it is first asked for.
func (tr *traffic) route(s *stream) *route {
	if s.way == nil {
		s.way = tr.net.way(s.pair, s.seen)
	}
	return s.way
}

// nearSights is how far back sawAt looks for a port: most ways are no longer.
const nearSights = 8

// sawAt notes a port at which a switch saw the stream.
func (s *stream) sawAt(p port) {
	if n := len(s.seen); !slices.Contains(s.seen[max(n-nearSights, 0):], p) {
		s.seen = append(s.seen, p)
	}
}

func (s *stream) tidySeen() {
	slices.SortFunc(s.seen, comparePorts)
	s.seen = slices.Compact(s.seen)
}

// passes says whether a stream may go through a port.
func (tr *traffic) passes(s *stream, at port) bool {
	return slices.Contains(tr.route(s).ports, at)
}

func compare(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func (tr *traffic) name(node int) string {
	return tr.net.nodeName(node)
}

func (tr *traffic) newStream(source, destination int) *stream {
	return &stream{pair: tr.net.pair(source, destination)}
}

// collective makes a stream for each pair of hosts that the steps join.
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
		slices.SortStableFunc(s.steps, func(a, b int32) int { return compare(t.begin[a], t.begin[b]) })
	}
}

// background makes the streams of the other flows: those with records of their own,
// and those that only switches saw.
func (tr *traffic) background(run *Run) {
	seen := tr.sightings(run)
	for _, f := range run.Flows {
		if !tr.has(f.Source) || !tr.has(f.Destination) || f.Source == f.Destination || len(tr.others) >= maxOthers {
			continue
		}
		s := tr.newStream(f.Source, f.Destination)
		s.curve = append(s.curve, sample{f.BeginNanos, 0})
		if f.EndNanos > f.BeginNanos {
			s.curve = append(s.curve, sample{f.EndNanos, f.Bytes})
			s.recorded = true
		}
		for key, samples := range seen {
			if key.source != f.Source || key.destination != f.Destination || f.SourcePort != 0 && key.sourcePort != f.SourcePort {
				continue
			}
			var rest []sample
			for _, x := range samples {
				if x.time >= f.BeginNanos && (f.EndNanos == 0 || x.time <= f.EndNanos) && (f.Bytes == 0 || x.bytes <= f.Bytes) {
					s.curve = append(s.curve, x)
				} else {
					rest = append(rest, x)
				}
			}
			if seen[key] = rest; len(rest) == 0 || f.EndNanos == 0 {
				delete(seen, key)
			}
		}
		s.tidy()
		if f.EndNanos == 0 {
			s.extend(f.Bytes, tr.net.fastest)
		}
		tr.others = append(tr.others, s)
	}
	known := len(tr.others)
	for key, samples := range seen {
		if len(tr.others) >= maxOthers {
			break
		}
		for _, s := range tr.unrecorded(key, samples) {
			if !tr.recorded(s, known) {
				tr.others = append(tr.others, s)
			}
		}
	}
	slices.SortStableFunc(tr.others, func(a, b *stream) int {
		if c := compare(a.curve[0].time, b.curve[0].time); c != 0 {
			return c
		}
		return (a.source-b.source)*len(tr.net.Nodes) + a.destination - b.destination
	})
}

// recorded says whether a stream of sightings is the margin of a flow that has a
// record: samples at an epoch's edge lie a little outside of it.
func (tr *traffic) recorded(s *stream, known int) bool {
	const margin = 2_000_000
	for _, o := range tr.others[:known] {
		if o.source == s.source && o.destination == s.destination && s.curve[0].time >= o.curve[0].time-margin && s.last().time <= o.last().time+margin {
			return true
		}
	}
	return false
}

func (tr *traffic) has(node int) bool {
	return node >= 0 && node < len(tr.net.Nodes) && !tr.net.Nodes[node].Switch
}

// sightings are the sequence numbers of the flows that are not of the collective.
func (tr *traffic) sightings(run *Run) map[flowKey][]sample {
	out := map[flowKey][]sample{}
	for i := range run.Telemetry {
		p := &run.Telemetry[i]
		for _, f := range p.Flows {
			if !tr.has(f.Source) || !tr.has(f.Destination) || f.Source == f.Destination || f.Collective {
				continue
			}
			key := flowKey{f.Source, f.Destination, f.SourcePort, f.DestinationPort}
			out[key] = append(out[key], sample{p.EpochNanos, f.MinSeq}, sample{p.LastNanos, f.MaxSeq})
		}
	}
	return out
}

// unrecorded makes streams of what switches saw of one flow: one for each time its
// sequence numbers began again.
func (tr *traffic) unrecorded(key flowKey, samples []sample) []*stream {
	slices.SortStableFunc(samples, func(a, b sample) int { return compare(a.time, b.time) })
	var out []*stream
	var s *stream
	high := int64(0)
	for _, x := range samples {
		if s == nil || x.bytes < high/2 {
			s = tr.newStream(key.source, key.destination)
			out = append(out, s)
			high = 0
		}
		s.curve = append(s.curve, x)
		high = max(high, x.bytes)
	}
	for _, s := range out {
		s.tidy()
		s.backwards(tr.net.fastest)
	}
	return out
}

// see notes at which ports the flows were.
func (tr *traffic) see(p *PortReport) {
	at := port{p.Switch, p.Port}
	of := tr.net.observed.at(at)
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
				s.queues = map[port]queueStat{}
			}
			q := s.queues[at]
			s.queues[at] = queueStat{q.queue + f.QueueSum, q.packets + f.Packets}
		}
	}
}

// tidy makes the curve rise with time.
func (s *stream) tidy() {
	slices.SortStableFunc(s.curve, func(a, b sample) int { return compare(a.time, b.time) })
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

// rate is bytes per nanosecond between two samples; otherwise if they say nothing.
func rateOf(a, b sample, otherwise float64) float64 {
	if b.time > a.time && b.bytes > a.bytes {
		return float64(b.bytes-a.bytes) / float64(b.time-a.time)
	}
	return otherwise
}

// extend adds the end of a flow of known size that has no record of its end: at the
// rate that was seen last, or at half the line rate.
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

// backwards adds the begin of a flow that was first seen under way.
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

// forwards adds the end of a flow that switches saw and that has no record of its
// end: half-way to the first report of one of its ports that does not list it, at the
// rate that was seen last.
func (tr *traffic) forwards(s *stream) {
	if s.recorded || len(s.curve) < 2 {
		return
	}
	last := s.last()
	gone := int64(0)
	for _, at := range s.seen {
		for _, r := range tr.net.observed.at(at).reads {
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
	for _, f := range p.Flows {
		if f.Source == s.source && f.Destination == s.destination && !f.Collective {
			return true
		}
	}
	return false
}

// sent is how many bytes a flow sent in a stretch of time.
func (s *stream) sent(from, to int64) int64 { return s.at(to) - s.at(from) }

func (s *stream) at(time int64) int64 {
	i, exact := slices.BinarySearchFunc(s.curve, time, func(x sample, t int64) int { return compare(x.time, t) })
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

// bytes is how much a stream sent in a stretch of time; the steps of a collective are
// taken as even.
func (tr *traffic) bytes(s *stream, from, to int64) int64 {
	if s.steps == nil {
		return s.sent(from, to)
	}
	if i, ok := tr.placeOf(s, from, to); ok {
		return tr.answer[i].bytes
	}
	return 0
}
