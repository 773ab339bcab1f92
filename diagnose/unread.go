package diagnose

import "github.com/giverny/giverny/schema"

// stallOf is the stall of a link, percent. Of a link between switches that never was read it is the most of the ports that
// its traffic may wait for: back pressure passes it, read or not.
func (p *pressure) stallOf(l schema.LinkID) float64 {
	if p.stall == nil {
		return 0
	}
	if p.stall.Valid.Has(int(l)) {
		return float64(p.stall.Values[l])
	}
	from, via := p.graph.Ends(l)
	if p.graph.Duplex() || p.before == nil || !p.graph.IsSwitch(from) || !p.graph.IsSwitch(via) || p.useOf(l) >= 0 || p.before(l) >= 0 {
		return 0
	}
	most := 0.
	for _, out := range p.graph.LinksAt(via) {
		if p.stall.Valid.Has(int(out)) && p.mayWait(l, out) {
			most = max(most, float64(p.stall.Values[out]))
		}
	}
	return most
}
