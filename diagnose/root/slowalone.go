package root

import (
	"iter"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// noiseOfStall is the stall, percent, up to which the reading of a link is noise.
const noiseOfStall = .3

// mostlyAlone is how many times as much stall leads into a switch as into those beside it if one of its ports lost
// rate: few flows are spread unevenly, too.
const mostlyAlone = 5

// slowAt is the port, without load readings, of a cable that lost rate at a switch where stall ends: its upper end holds
// back alone what others beside it would, and at its lower end traffic waits that could go on over it. NoLink: none is
// known.
func (w *walk) slowAt(at topology.DeviceID) schema.LinkID {
	if down := w.slowBelow(at); down != schema.NoLink {
		return down
	}
	for up, above := range w.portsTo(at, 1) {
		if down := w.slowBelow(above); down != schema.NoLink && down == w.backOf(up) {
			return up
		}
	}
	return schema.NoLink
}

// clearlyMost is how many times as much must wait at one of several places for it to be the one.
const clearlyMost = 2

// slowBelow is the port of a switch to the one below it before which clearly most waits that could go on over the
// cable, if the switch is alone; else NoLink.
func (w *walk) slowBelow(at topology.DeviceID) schema.LinkID {
	slow, most, second := schema.NoLink, 0., 0.
	if w.alone(at) < mostlyAlone {
		return slow
	}
	for down, below := range w.portsTo(at, -1) {
		switch waits := w.waitsBelow(below); {
		case waits > most:
			slow, most, second = down, waits, most
		case waits > second:
			second = waits
		}
	}
	if most < stalledPercent || most < clearlyMost*second {
		return schema.NoLink
	}
	return slow
}

// waitsBelow is the stall, percent, of the links from below into a switch, the highest, if it can only wait for one of
// its ports upwards: none of these stalls, nor do links from above.
func (w *walk) waitsBelow(at topology.DeviceID) (most float64) {
	level := w.graph.Device(at).Level
	for _, l := range w.graph.LinksAt(at) {
		from, to := w.graph.Ends(l)
		switch stall := w.StallOf(l); {
		case to == at && w.graph.Device(from).Level < level:
			most = max(most, stall)
		case stall >= stalledPercent && max(w.graph.Device(from).Level, w.graph.Device(to).Level) > level:
			return 0
		}
	}
	return most
}

// portsTo yields the ports of a switch of a tree to the switches one level up (1) or down (-1).
func (w *walk) portsTo(at topology.DeviceID, direction int8) iter.Seq2[schema.LinkID, topology.DeviceID] {
	return func(yield func(schema.LinkID, topology.DeviceID) bool) {
		level := w.graph.Device(at).Level
		for _, l := range w.graph.LinksAt(at) {
			if from, to := w.graph.Ends(l); from == at && level > 0 && w.graph.IsSwitch(to) &&
				w.graph.Device(to).Level == level+direction && !yield(l, to) {
				return
			}
		}
	}
}

// alone is how many times as much stall leads into a switch of a tree as into any of the switches beside it: the others
// to which traffic can go that waits for it most. Traffic is spread over all of them, so if more is sent than a place
// behind them takes, all of them hold it back. What only one of them holds back waits for a port of that one. 0: not
// known.
func (w *walk) alone(at topology.DeviceID) float64 {
	first, waits := at, -1.
	for down, below := range w.portsTo(at, -1) {
		if up := w.backOf(down); up != schema.NoLink && w.StallOf(up) > waits {
			first, waits = below, w.StallOf(up)
		}
	}
	own, known := w.held(at)
	most, beside := 0., false
	for _, next := range w.portsTo(first, 1) {
		if held, known := w.held(next); known && next != at {
			most, beside = max(most, held), true
		}
	}
	if !known || !beside || waits < 0 {
		return 0
	}
	return own / (most + noiseOfStall)
}

// held is the mean stall, percent, of the links from switches into one, if any is read.
func (w *walk) held(at topology.DeviceID) (stall float64, known bool) {
	links := 0.
	for _, l := range w.graph.LinksAt(at) {
		if from, to := w.graph.Ends(l); to == at && w.graph.IsSwitch(from) && w.isRead(l) {
			stall, links = stall+w.StallOf(l), links+1
		}
	}
	return stall / max(1, links), links > 0
}

func (w *walk) isRead(l schema.LinkID) bool { return w.Stall != nil && w.Stall.Valid.Has(int(l)) }
