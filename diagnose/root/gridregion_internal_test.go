package root

import (
	"testing"

	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// TestARegionIsNotAskedAfterTheNext: a question about a region that would be answered from another one's readings is a
// mistake of the caller.
func TestARegionIsNotAskedAfterTheNext(t *testing.T) {
	u := newTiedUp(t)
	links := []schema.LinkID{roottest.Link(t, u.Graph, "2,3,3>2,3,4")}
	first := u.f.Region(u.p, links)
	first.Drain(nil)
	u.f.Region(u.p, links)
	for name, ask := range map[string]func(){
		"Drain":      func() { first.Drain(nil) },
		"Bottleneck": func() { first.Bottleneck(u.p, nil, &Drain{}, false) },
		"FullLink":   func() { first.FullLink(&Bottleneck{Link: schema.NoLink}, &Drain{}) },
		"Endings":    func() { first.Endings(&Drain{}) },
		"Shares":     func() { first.Shares(u.p, links, nil, nil) },
		"Converging": func() { first.Converging(nil, 0) },
		"NodesEnd":   func() { first.NodesEnd(nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s answers", name)
				}
			}()
			ask()
		}()
	}
}
