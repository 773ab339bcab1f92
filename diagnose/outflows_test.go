package diagnose_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// TestWhoSendsWhatArrives: what fills the port to a host is the job's whose hosts send it. If most comes from hosts of no
// listed job, or from hosts of several other jobs what one is said to read, no job is accused.
func TestWhoSendsWhatArrives(t *testing.T) {
	for name, c := range map[string]struct {
		senders []string
		sink    string
		want    string // the job that is accused
	}{
		"a job writes":                  {[]string{"host0", "host1", "host4"}, "host15", "7"},
		"a job reads":                   {[]string{"host12", "host13", "host14"}, "host8", "8"},
		"some hosts of two others send": {[]string{"host0", "host1", "host5"}, "host8", ""},
		"another job sends":             {[]string{"host0", "host1", "host4"}, "host8", "7"},
		"hosts of no job send most":     {[]string{"host0", "host12", "host13"}, "host15", ""},
	} {
		p := newPlant(t, "fattree:leaves=4,hosts=4,spines=2")
		p.hasUse, p.traffic = true, false
		p.job("7", "host0", "host1", "host4")
		p.job("8", "host2", "host8", "host9")
		p.job("9", "host5", "host10", "host11")
		for l := range schema.LinkID(p.graph.NumLinks()) {
			p.use[l] = 5
		}
		p.step(20)
		leaf := func(host string) string {
			at, _ := p.graph.FindDevice(host)
			_, leaf := p.graph.Ends(p.graph.LinksAt(at)[0])
			return p.graph.Device(max(at, leaf)).Name
		}
		port := roottest.Link(t, p.graph, leaf(c.sink)+">"+c.sink)
		p.use[port] = 95
		var waits []schema.LinkID
		for _, host := range c.senders {
			own := roottest.Link(t, p.graph, host+">"+leaf(host))
			p.use[own] = 35
			waits = append(waits, own)
			for _, spine := range []string{"spine0", "spine1"} {
				up, down := roottest.Link(t, p.graph, leaf(host)+">"+spine), roottest.Link(t, p.graph, spine+">"+leaf(c.sink))
				p.use[up], p.use[down] = max(p.use[up], 20), 47
				waits = append(waits, up, down)
			}
		}
		slices.Sort(waits)
		p.congest(40, slices.Compact(waits)...)
		d := p.step(4)
		accused := ""
		if len(d[0].Jobs) > 0 {
			accused = d[0].Jobs[0].JobID
		}
		if ofOthers := strings.Contains(d[0].Text, "Hosts of other jobs send more"); ofOthers != (name == "some hosts of two others send") {
			t.Errorf("%s: %s", name, d[0].Text)
		}
		if accused != c.want {
			t.Errorf("%s: accused %q, want %q: %s", name, accused, c.want, d[0].Text)
		}
	}
}
