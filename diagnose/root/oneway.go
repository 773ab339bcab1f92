package root

import "github.com/giverny/giverny/schema"

const (
	// meanOneWay is what a link shows of the time, 0 to 1, that is busy all of it in one direction, if its readings are the mean of
	// both directions; else it is 1.
	meanOneWay = .5
	// nearFloor is within how many percent of that what links stall and carry together is at it, leastAtFloor how many of those
	// that stall must be, floorShare which share of them.
	nearFloor, leastAtFloor, floorShare = 4, 3, .2
)

// findOneWay finds out whether what is read of a link of a grid is the mean of both directions, or else their sum or the larger. While packets always
// wait, a link that does not stall sends, so that it stalls and carries in one direction what that can in all: links whose other
// direction is quiet lie at that floor, and those with more there above it. Below it are few, whose packets do not always wait. Of
// readings that are sums and of links that are idle for a part of the time no more lie there than elsewhere.
func (p *Pressure) findOneWay() {
	p.oneWay = 1
	if p.Credit == nil || !p.graph.Duplex() {
		return
	}
	below, at, above := 0, 0, 0
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
			below++
		case beyond <= nearFloor:
			at++
		default:
			above++
		}
	}
	if at >= leastAtFloor && at >= below && float64(at) >= floorShare*float64(below+at+above) {
		p.oneWay = meanOneWay
	}
}

// stallShare is the share of the time that a link stalls in the direction in which it does, 0 to MaxStall.
func (p *Pressure) stallShare(l schema.LinkID) float64 {
	return min(MaxStall, p.StallOf(l)/100/p.oneWay)
}
