package root

import "github.com/giverny/giverny/schema"

// stallBehind estimates the stall of a link without a reading. For a link between switches that was never read, it is
// the highest stall of the ports that its traffic may wait for: back pressure passes it, read or not.
func (p *Pressure) stallBehind(l schema.LinkID) float64 {
	if p.graph.Duplex() || !p.graph.BetweenSwitches(l) {
		return 0
	}
	_, via := p.graph.Ends(l)
	if p.Before == nil || p.UseOf(l) >= 0 || p.Before(l) >= 0 {
		return 0
	}
	most := 0.
	for _, out := range p.graph.LinksAt(via) {
		if p.Stall.Valid.Has(int(out)) && p.mayWait(l, out) {
			most = max(most, float64(p.Stall.Values[out]))
		}
	}
	return most
}
