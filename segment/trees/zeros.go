package trees

import (
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/linkset"
)

// distrustZeros takes zeros for missing that cannot be right: that of a link down, the only way to its switch, for which
// others wait, where most that enter the same switch from the same level stall.
func (t *trees) distrustZeros() {
	t.zeros = t.zeros[:0]
	for _, d := range t.entered {
		if !t.waits.isSwitch[d] || t.feeders[d] < minFeeders {
			continue
		}
		for _, l := range t.waits.in.of(d) {
			if t.values[l] != 0 || !t.waits.isDown(l) || t.stalledInto(t.waits.from[l]) == 0 || !t.isOddlyCalm(l) {
				continue
			}
			if len(t.zeros) == 0 {
				t.trusted = append(t.trusted[:0], t.values...)
				t.values = t.trusted
			}
			t.values[l] = linkset.Missing
			t.zeros = append(t.zeros, l)
		}
	}
}

// isOddlyCalm reports whether a link is calm though most that enter its switch from others of its level are not.
func (t *trees) isOddlyCalm(link int32) bool {
	w, stalled, measured := t.waits, 0, 0
	for _, l := range w.in.of(w.to[link]) {
		if l == link || w.fromHost(l) || t.values[l] == linkset.Missing || w.level[w.from[l]] != w.level[w.from[link]] {
			continue
		}
		measured++
		if t.node[l] >= 0 {
			stalled++
		}
	}
	return stalled >= minFeeders && 2*stalled > measured
}

// zeroShare of what enters a switch beside a link that reads zero, but cannot, must be of one region for the link to be, too.
const zeroShare = .9

// appendZeros appends to the last group, from first on, the links whose zeros cannot be right and beside which nearly all is of it.
func (t *trees) appendZeros(out *linkset.Groups, first int) {
	if len(t.zeros) == 0 {
		return
	}
	end := len(out.Links)
	for _, l := range out.Links[first:end] {
		t.isMet[t.waits.to[l]] = true
	}
	for _, l := range t.zeros {
		if t.isMet[t.waits.to[l]] && t.isAmong(l, out.Links[first:end]) {
			out.Links = append(out.Links, schema.LinkID(l))
		}
	}
	for _, l := range out.Links[first:end] {
		t.isMet[t.waits.to[l]] = false
	}
	slices.Sort(out.Links[first:])
}

// isAmong reports whether nearly all others that enter the switch of a link from switches of the same level are of a region. Others that read zero
// are not: readings fail one by one, while traffic that takes few ways leaves several calm.
func (t *trees) isAmong(link int32, region []schema.LinkID) bool {
	w, without, measured := t.waits, 0, 0
	into := w.in.of(w.to[link])
	most := (1 - zeroShare) * float64(len(into))
	for _, l := range into {
		if l == link || w.fromHost(l) || w.level[w.from[l]] != w.level[w.from[link]] || t.values[l] == linkset.Missing && !slices.Contains(t.zeros, l) {
			continue
		}
		measured++
		if _, ok := slices.BinarySearch(region, schema.LinkID(l)); !ok {
			if without++; float64(without) > most {
				return false // however many of the rest are
			}
		}
	}
	return float64(measured-without) >= zeroShare*float64(measured)
}
