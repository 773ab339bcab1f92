package collective

import (
	"fmt"

	"github.com/giverny/giverny/internal/plural"
)

// pending splits the transfers of a standstill that have no record of their end. If
// others went on with their data, or if switches still saw the collective send
// afterwards, they did end and only the records are lost.
func (st *standstill) pending(all []stuck) (open, lost []stuck) {
	if len(all) == 0 {
		return nil, nil
	}
	wentOn := st.sentLater()
	for _, s := range all {
		if !s.recorded && (s.passedOn || wentOn[s.communicator] && st.within(s, st.t.last)) {
			lost = append(lost, s)
		} else {
			open = append(open, s)
		}
	}
	return open, lost
}

// within reports whether a transfer may still have been running at a time: no more than
// the longest step of its communicator had passed since it could begin.
func (st *standstill) within(s stuck, at int64) bool {
	return at-s.since <= st.longestStep(s.communicator)
}

func (st *standstill) longestStep(communicator int32) (nanos int64) {
	from, to := st.t.of(communicator)
	for i := from; i < to; i++ {
		nanos = max(nanos, st.t.end[i]-st.t.begin[i])
	}
	return nanos
}

// sentLater returns the communicators still sending after their records end: a switch
// saw a flow advance by a sixteenth of a step or more in epochs that began later after
// the last recorded end than any step took. A stopped rank sends nothing, and
// retransmissions do not advance.
func (st *standstill) sentLater() map[int32]bool {
	run := st.t.run
	if len(run.Telemetry) == 0 {
		return nil
	}
	type pair struct{ source, destination int }
	type extent struct{ from, to int64 }
	out := map[int32]bool{}
	for number := range max(len(run.Communicators), 1) {
		c := int32(number)
		first, last := st.t.of(c)
		if first == last {
			continue
		}
		after, bytes := int64(0), int64(0)
		pairs := map[pair]bool{}
		for i := first; i < last; i++ {
			r := &st.t.steps[i]
			after, bytes = max(after, st.t.end[i]), max(bytes, r.Bytes)
			if r.Peer >= 0 {
				pairs[pair{run.Ranks[r.Rank].Host, run.Ranks[r.Peer].Host}] = true
			}
		}
		after += st.longestStep(c)
		seen := map[pair]extent{}
		for i := range run.Telemetry {
			p := &run.Telemetry[i]
			if p.EpochNanos <= after {
				continue
			}
			for _, f := range p.Flows {
				key := pair{f.Source, f.Destination}
				if !f.Collective || f.Packets == 0 || !pairs[key] {
					continue
				}
				e, ok := seen[key]
				if !ok {
					e = extent{f.MinSeq, f.MaxSeq}
				}
				e = extent{min(e.from, f.MinSeq), max(e.to, f.MaxSeq)}
				seen[key] = e
				out[c] = out[c] || bytes > 0 && e.to-e.from >= bytes/16
			}
		}
	}
	return out
}

// incomplete reports whether records other than the last ones of a rank are known
// missing.
func (t *table) incomplete() bool { return t.run.Cut || len(t.holes) > 0 }

// standing returns the transfers that certainly stand still: their begin was recorded,
// or the records continue for longer than any step took and none are known to be
// missing. If there is no such transfer it returns all, and not sure, because the
// records end too soon. Then a single rank may have stopped; with several ranks, or a
// file that ends in the middle of a line, it is the records that are missing.
func (st *standstill) standing(all []stuck, last int64) (out []stuck, sure bool) {
	for _, s := range all {
		if s.recorded || !st.t.incomplete() && !st.within(s, last) {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		return all, false
	}
	return out, true
}

// missingRecords is a note on transfers that ended, or may have ended, without a
// record.
func (st *standstill) missingRecords(lost []stuck) string {
	var hosts []string
	for _, s := range lost {
		text := fmt.Sprintf("host %s, step %d", st.t.run.Ranks[s.rank].Node, s.step)
		if s.step < s.steps {
			text = fmt.Sprintf("host %s, steps %d to %d", st.t.run.Ranks[s.rank].Node, s.step, s.steps)
		}
		hosts = append(hosts, text)
	}
	text := "records missing: " + plural.First(hosts, 16, "; ")
	if at := st.t.run.LastRecord; at != "" {
		text += " (the records of transfers end at " + at + ")"
	}
	return text
}

// lacksFabric reports whether neither the fabric's links nor any switch data are known. Then
// all that is known is that steps took too long, and what else was sent.
func (e *evidence) lacksFabric() bool {
	return len(e.tr.net.Links) == 0 && len(e.t.run.Telemetry) == 0 && len(e.t.run.Paths) == 0
}

// withoutFabric lowers the confidence of culprits whose class only the fabric or its
// switches could show, and notes what is missing.
func (e *evidence) withoutFabric(culprits []Culprit) {
	if !e.lacksFabric() {
		return
	}
	for i := range culprits {
		if c := &culprits[i]; c.Class != Straggler && c.Class != Hang {
			c.Confidence = min(c.Confidence, notSure)
			c.Evidence += "; the records have no topology and no switch telemetry, without which its class and place cannot be known"
		}
	}
}
