package root

import "github.com/giverny/giverny/schema"

const (
	// meanOneWay is what a link shows that is busy all the time in one direction, as a share of time, if readings are
	// the mean of both directions; otherwise it shows 1.
	meanOneWay = .5
	// nearFloor is the tolerance, percent, within which stall plus use lies at that floor; leastAtFloor and floorShare
	// are the number and share of the stalled links that must lie there.
	nearFloor, leastAtFloor, floorShare = 4, 3, .2
	// floorMemory is the decay per interval.
	floorMemory = 1 - 1./1000
)

// Floor counts readings of stalled links below, at and above the least that a link can show if readings are the mean of
// both directions. While packets always wait, a link either sends or stalls, so that both add up to all the time in
// that direction: links with a quiet other direction lie at the floor, the others above it. Few lie below, those whose
// packets do not always wait. If readings are the sum or the maximum of both directions, or links are idle part of the
// time, no more lie at the floor than elsewhere.
type Floor struct{ Below, At, Above float64 }

// isMean reports whether readings are the mean of both directions.
func (f *Floor) isMean() bool {
	return f.At >= leastAtFloor && f.At >= f.Below && f.At >= floorShare*(f.Below+f.At+f.Above)
}

// floor counts the readings of an interval on a grid.
func (p *Readings) floor() (f Floor) {
	if p.Credit == nil || !p.graph.Duplex() {
		return f
	}
	for l := range schema.LinkID(p.graph.NumLinks()) {
		if !p.Credit.Valid.Has(int(l)) || p.Credit.Values[l] < lineStall {
			continue
		}
		use := p.UseOf(l)
		if use < 0 {
			continue
		}
		switch beyond := float64(p.Credit.Values[l]) + use - 100*meanOneWay; {
		case beyond < -nearFloor:
			f.Below++
		case beyond <= nearFloor:
			f.At++
		default:
			f.Above++
		}
	}
	return f
}

// Remember adds an interval to the counts of a fabric and decides from all of them what one direction shows. That does
// not change between intervals, while in a single one many links, or few, may lie near the floor by chance.
func (p *Readings) Remember(all *Floor) {
	now := p.floor()
	all.Below = floorMemory*all.Below + now.Below
	all.At = floorMemory*all.At + now.At
	all.Above = floorMemory*all.Above + now.Above
	if p.oneWay = 1; all.isMean() {
		p.oneWay = meanOneWay
	}
}

// inOneWay is a reading of a link, or a part of it, as that of one direction if the other is quiet. Only those are
// compared with thresholds that apply to a direction.
func (p *Readings) inOneWay(reading float64) float64 { return reading / p.oneWay }

// stallShare is the share of time that a link stalls in the direction in which it does, 0 to MaxStall.
func (p *Pressure) stallShare(l schema.LinkID) float64 {
	return min(MaxStall, p.inOneWay(p.StallOf(l)/100))
}
