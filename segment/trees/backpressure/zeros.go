package backpressure

import (
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/segment/trees/index"
)

// DropFalseZeros treats zeros that cannot be right as missing: a link down or within a dragonfly's group, the only way to its
// switch, reads zero though links wait for it and most links into the same switch from the same level stall.
func (t *Nodes) DropFalseZeros() {
	t.trusted = t.trusted[:0]
	for _, d := range t.Entered {
		if !t.Graph.IsSwitch[d] || t.Feeders[d] < MinFeeders {
			continue
		}
		for _, l := range t.Graph.In.Of(d) {
			if t.Values[l] != 0 || !t.isOnlyWay(l) || t.StalledInto(t.Graph.From[l]) == 0 || !t.isOddlyCalm(l) {
				continue
			}
			t.distrust(l)
		}
	}
	t.distrustCables()
	if len(t.trusted) > 0 {
		t.Values = t.trusted
	}
}

// distrust marks a reading as missing in a copy of the readings, which dropFalseZeros uses at its end.
func (t *Nodes) distrust(l index.Link) {
	if len(t.trusted) == 0 {
		t.trusted = append(t.trusted, t.Values...)
	}
	t.trusted[l] = linkset.Missing
}

// distrustCables does the same for cables between groups of a dragonfly that read zero though several links wait to enter
// them, if most cables into the same group stall: a tree there reaches most groups, so it reaches these, too.
func (t *Nodes) distrustCables() {
	w := t.Graph
	if t.Noise.zeros > mostZeros {
		return
	}
	for first, end := 0, 0; first < len(w.cables); first = end {
		group, measured, stalled := w.Group[w.To[w.cables[first]]], 0, 0
		for end = first; end < len(w.cables) && w.Group[w.To[w.cables[end]]] == group; end++ {
			if t.Values[w.cables[end]] != linkset.Missing {
				measured++
			}
			if t.Node[w.cables[end]] >= 0 {
				stalled++
			}
		}
		if stalled < MinFeeders || 2*stalled <= measured {
			continue
		}
		for _, l := range w.cables[first:end] {
			if t.Values[l] == 0 && t.StalledInto(w.From[l]) >= fewestBefore {
				t.distrust(l)
			}
		}
	}
}

// isOddlyCalm reports whether a link is calm while most links into its switch from the same level are not.
func (t *Nodes) isOddlyCalm(link index.Link) bool {
	w, stalled, measured := t.Graph, 0, 0
	for _, l := range w.In.Of(w.To[link]) {
		if l == link || w.FromHost(l) || t.Values[l] == linkset.Missing || w.Level[w.From[l]] != w.Level[w.From[link]] {
			continue
		}
		measured++
		if t.Node[l] >= 0 {
			stalled++
		}
	}
	return stalled >= MinFeeders && 2*stalled > measured
}

// isOnlyWay reports whether a link is the only way between its switches, of which a zero may be wrong: it is down or, if few
// readings are zero, within a dragonfly's group, whose links are often idle.
func (t *Nodes) isOnlyWay(link index.Link) bool {
	return t.Graph.IsDown(link) || t.Graph.IsWithinGroup(link) && t.mayBeUnread(link)
}
