package root

import "github.com/giverny/giverny/schema"

const (
	// meanOneWay is what a link shows of the time, 0 to 1, that is busy all of it in one direction, if its readings are the mean of
	// both directions; else it is 1.
	meanOneWay = .5
	// nearFloor is within how many percent of that what links stall and carry together is at it, leastAtFloor how many of those
	// that stall must be, floorShare which share of them.
	nearFloor, leastAtFloor, floorShare = 4, 3, .2
	// floorMemory is how much an interval counts of the next one.
	floorMemory = 1 - 1./1000
)

// Floor is how many readings of links that stall lay below, at and above what a link shows at least if its readings are the mean of
// both directions. While packets always wait, a link that does not stall sends, so that it stalls and carries in one direction what
// that can in all: links whose other direction is quiet lie at that floor, and those with more there above it. Below it are few, whose
// packets do not always wait. Of readings that are sums, or the larger, and of links that are idle for a part of the time no more lie
// there than elsewhere.
type Floor struct{ Below, At, Above float64 }

// isMean reports whether readings are the mean of both directions.
func (f *Floor) isMean() bool {
	return f.At >= leastAtFloor && f.At >= f.Below && f.At >= floorShare*(f.Below+f.At+f.Above)
}

// floor is that of an interval, of a grid.
func (p *Pressure) floor() (f Floor) {
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

// Remember adds an interval to what is known of a fabric's readings, and decides by all of them what a direction shows: that does not
// change from interval to interval, while in one many links may lie near the floor by chance, or few.
func (p *Pressure) Remember(all *Floor) {
	now := p.floor()
	all.Below, all.At, all.Above = floorMemory*all.Below+now.Below, floorMemory*all.At+now.At, floorMemory*all.Above+now.Above
	if p.oneWay = 1; all.isMean() {
		p.oneWay = meanOneWay
	}
}

// stallShare is the share of the time that a link stalls in the direction in which it does, 0 to MaxStall.
func (p *Pressure) stallShare(l schema.LinkID) float64 {
	return min(MaxStall, p.StallOf(l)/100/p.oneWay)
}
