package pattern

import (
	"math/rand/v2"
	"testing"
)

// decomposition draws the traffic of a domain decomposition: 32 subdomains with 2 MB of
// particles, each of which sends uneven shares to its neighbours in a 4x4x2 grid, one
// of them on the same node.
func decomposition(seed uint64) []Piece {
	rng := rand.New(rand.NewPCG(seed, 0))
	var pieces []Piece
	for from := range 32 {
		load := rng.ExpFloat64() * 400_000
		for _, to := range []int{(from + 2) % 32, (from + 30) % 32, (from + 8) % 32, (from + 24) % 32, from ^ 1} {
			if share := int64(load * rng.Float64()); share > 0 {
				pieces = append(pieces, Piece{from, to, share / 48 * 48})
			}
		}
	}
	return pieces
}

// TestBarrierBeforeOrAfterPack is the paper's experiment (figure 3): 16 nodes with two
// processes each. The program ends sooner with the barrier before the packing, as its
// puts then wait less for others. Removing the intra-node puts hardly affects puts
// after an early barrier, but speeds up those after a late one: collisions with
// intra-node puts are part of the cause.
func TestBarrierBeforeOrAfterPack(t *testing.T) {
	m, err := FindModel("nsim-ace")
	if err != nil {
		t.Fatal(err)
	}
	g := parse(t, "fattree:leaves=4,hosts=4,spines=4")
	var gained [2]float64 // ns per put without intra-node puts, summed over draws
	for seed := range uint64(10) {
		var e [2]*Explanation
		for i, first := range []bool{true, false} {
			p, err := Exchange{PerNode: 2, PackNanosPerByte: 1, BarrierFirst: first}.Program("decomposition", decomposition(seed))
			if err != nil {
				t.Fatal(err)
			}
			if e[i], err = (Experiment{Graph: g, Model: m, Program: p}).Explain(Without{IntraNode: true}); err != nil {
				t.Fatal(err)
			}
			gained[i] += (e[i].Put[0].Latency - e[i].Put[1].Latency).Nanoseconds()
		}
		before, after := e[0], e[1]
		if before.With.End >= after.With.End || before.Put[0].Latency >= after.Put[0].Latency {
			t.Errorf("seed %d: with the barrier before and after the packing the end is at %.0f and %.0f ns, a put takes %.0f and %.0f",
				seed, before.With.End.Nanoseconds(), after.With.End.Nanoseconds(), before.Put[0].Latency.Nanoseconds(), after.Put[0].Latency.Nanoseconds())
		}
	}
	t.Logf("without intra-node puts the others take %.0f ns less after an early barrier, %.0f after a late one", gained[0]/10, gained[1]/10)
	if 3*gained[0] > gained[1] {
		t.Error("the intra-node puts are not what makes the late barrier slow")
	}
}
