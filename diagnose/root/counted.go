package root

import "github.com/giverny/giverny/schema"

// mostSlow is how many links at once may show by their waits that they cannot carry their capacity: lanes are rarely
// lost on several links.
const mostSlow = 1

// findCounted determines where the devices of a grid count packets that wait inside a switch: at the link that they
// wait for, or at the one over which they came. In the second case nearly all links that are short of credits show
// waits, as what fills the buffers behind them waits there, and links that lead into them seem to have lost rate.
func (p *Readings) findCounted() {
	p.atInputs = false
	if p.Inq == nil || p.Credit == nil || !p.graph.Duplex() {
		return
	}
	slow, stalled, behind := 0, 0, 0
	for l := range schema.LinkID(p.graph.NumLinks()) {
		if !p.Credit.Valid.Has(int(l)) {
			continue
		}
		stall, waits := p.Credit.Values[l], p.inside(l) >= mostlyWaits
		switch {
		case stall >= endStall:
			if stalled++; waits {
				behind++
			}
		case waits && stall <= bottleneckStall && p.rateLeft(l, p.UseOf(l)) < ClearlyLess:
			slow++
		}
	}
	p.atInputs = slow > mostSlow && 2*behind >= stalled
}

// waitsFor is the share of time that packets wait inside a switch for a link; 0 if not measured.
func (p *Readings) waitsFor(l schema.LinkID) float64 {
	if p.atInputs {
		return 0
	}
	return p.inside(l)
}

// waitsBeyond is the share of time that packets wait inside a switch for a link while it has credits: in the rest they
// wait for something behind it.
func (p *Pressure) waitsBeyond(l schema.LinkID) float64 {
	return max(0, p.waitsFor(l)-p.StallOf(l)/100)
}

// heldBehind reports whether the traffic of a link mostly waits for others behind it, so that a region does not wait
// for it.
func (p *Readings) heldBehind(l schema.LinkID) bool { return p.atInputs && p.inside(l) >= mostlyWaits }

// inside is the share of time that a link counts packets waiting inside a switch.
func (p *Readings) inside(l schema.LinkID) float64 {
	if p.Inq == nil || !p.Inq.Valid.Has(int(l)) {
		return 0
	}
	return float64(p.Inq.Values[l]) / 100
}
