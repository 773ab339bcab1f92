package collective

import (
	"cmp"
	"maps"
	"slices"
)

// maxOthers bounds the background flows that are analysed.
const maxOthers = 4096

// flowKey identifies a flow in telemetry.
type flowKey struct{ source, destination, sourcePort, destinationPort int }

func (k flowKey) compare(other flowKey) int {
	return cmp.Or(cmp.Compare(k.source, other.source), cmp.Compare(k.destination, other.destination),
		cmp.Compare(k.sourcePort, other.sourcePort), cmp.Compare(k.destinationPort, other.destinationPort))
}

// background creates the streams of the other flows: those with their own records, and
// those that only switches saw.
func (tr *traffic) background(run *Run) {
	seen := tr.sightings(run)
	keys := slices.SortedFunc(maps.Keys(seen), flowKey.compare)
	for _, f := range run.Flows {
		if !tr.has(f.Source) || !tr.has(f.Destination) || f.Source == f.Destination {
			continue
		}
		if len(tr.others) >= maxOthers {
			tr.cut++
			continue
		}
		s := tr.newStream(f.Source, f.Destination)
		s.curve = append(s.curve, sample{f.BeginNanos, 0})
		if f.EndNanos > f.BeginNanos {
			s.curve = append(s.curve, sample{f.EndNanos, f.Bytes})
			s.recorded = true
		}
		for _, key := range keys {
			if key.source != f.Source || key.destination != f.Destination || f.SourcePort != 0 && key.sourcePort != f.SourcePort {
				continue
			}
			seen[key] = slices.DeleteFunc(seen[key], func(x sample) bool {
				own := x.time >= f.BeginNanos && (f.EndNanos == 0 || x.time <= f.EndNanos) && (f.Bytes == 0 || x.bytes <= f.Bytes)
				if own {
					s.curve = append(s.curve, x)
				}
				return own
			})
			if len(seen[key]) == 0 || f.EndNanos == 0 {
				delete(seen, key)
			}
		}
		s.tidy()
		if f.EndNanos == 0 {
			s.extend(f.Bytes, tr.net.Fastest)
		}
		tr.others = append(tr.others, s)
	}
	known := len(tr.others)
	for _, key := range keys {
		for _, s := range tr.unrecorded(key, seen[key]) {
			switch {
			case tr.recorded(s, known):
			case len(tr.others) >= maxOthers:
				tr.cut++
			default:
				tr.others = append(tr.others, s)
			}
		}
	}
	slices.SortStableFunc(tr.others, func(a, b *stream) int {
		return cmp.Or(cmp.Compare(a.curve[0].time, b.curve[0].time), cmp.Compare(a.Source, b.Source), cmp.Compare(a.Destination, b.Destination))
	})
}

// recorded reports whether a stream of sightings is only the edge of a flow that has a
// record: samples at the edge of an epoch may lie slightly outside the flow's lifetime.
func (tr *traffic) recorded(s *stream, known int) bool {
	const margin = 2_000_000
	return slices.ContainsFunc(tr.others[:known], func(o *stream) bool {
		return o.Source == s.Source && o.Destination == s.Destination && s.curve[0].time >= o.curve[0].time-margin && s.last().time <= o.last().time+margin
	})
}

func (tr *traffic) has(node int) bool {
	return node >= 0 && node < len(tr.net.Nodes) && !tr.net.Nodes[node].Switch
}

// sightings returns the sequence numbers seen of the flows outside the collective.
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

// unrecorded creates the streams of one flow that only switches saw: one for each
// restart of its sequence numbers.
func (tr *traffic) unrecorded(key flowKey, samples []sample) []*stream {
	slices.SortStableFunc(samples, func(a, b sample) int { return cmp.Compare(a.time, b.time) })
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
		s.backwards(tr.net.Fastest)
	}
	return out
}
