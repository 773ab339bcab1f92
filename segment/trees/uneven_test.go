package trees_test

import (
	"fmt"
	"math"
	"math/rand"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/segment/segmenttest"
	"github.com/giverny/giverny/topology"
)

// exchangeOf paints the stall of an all-to-all exchange among hosts of the first leaves. Each host receives at a rate
// of its own; a link waits for its traffic's ports, by the exchange's share of it.
func exchangeOf(p stalls.Painting, g *topology.Graph, leaves, hostsEach int, rng *rand.Rand) (links int) {
	share := func(stall float64) float32 {
		links++
		return float32(stall * (.6 + .4*rng.Float64()))
	}
	var hosts [][]topology.DeviceID
	wait := make([]float64, leaves)
	for leaf := range wait {
		of := g.Hosts()[leaf*8:][:hostsEach]
		hosts = append(hosts, of)
		for _, h := range of {
			port := 40 * math.Exp(.3*rng.NormFloat64())
			wait[leaf] += port / float64(hostsEach)
			for _, l := range g.LinksAt(h) {
				if _, to := g.Ends(l); to == h {
					p[l] = float32(port)
					links++
				}
			}
		}
	}
	all := 0.
	for _, w := range wait {
		all += w
	}
	for leaf, of := range hosts {
		var at topology.DeviceID // the leaf
		for _, h := range of {
			for _, l := range g.LinksAt(h) {
				if from, to := g.Ends(l); from == h {
					p[l], at = share(all/float64(leaves)), to
				}
			}
		}
		for _, l := range g.LinksAt(at) {
			from, to := g.Ends(l)
			if leaves == 1 || !g.IsSwitch(from) || !g.IsSwitch(to) {
				continue
			}
			if to == at {
				p[l] = share(wait[leaf])
			} else {
				p[l] = share((all - wait[leaf]) / float64(leaves-1))
			}
		}
	}
	return links
}

// Exchanging hosts receive at rates of their own, so their ports and leaves differ by far more than noise; the
// exchange is still one region.
func TestUnevenReceiversAreOneExchange(t *testing.T) {
	g := stalls.Fabric(t, "fattree:leaves=8,hosts=8,spines=8")
	for leaves := 1; leaves <= 4; leaves++ {
		t.Run(fmt.Sprint(leaves, " leaves"), func(t *testing.T) {
			const samples, most = 50, 3
			cut := 0
			for seed := range int64(samples) {
				rng := rand.New(rand.NewSource(seed))
				values := stalls.Blank(g)
				links := exchangeOf(values, g, leaves, 6, rng)
				if got := segmenttest.Find(t, g, segmenttest.Overlapping(), values.Noisy(1, seed)); len(got) != 1 || got[0].Size < links*9/10 {
					cut++
				}
			}
			if cut > most {
				t.Errorf("%d of %d exchanges are not one region", cut, samples)
			}
		})
	}
}
