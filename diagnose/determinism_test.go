package diagnose_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/giverny/giverny/diagnose"
	"github.com/giverny/giverny/schema"
)

// reload loads the saved state into a new stage.
func (p *plant) reload() {
	p.t.Helper()
	saved := p.stage.Save()
	fresh, err := diagnose.New(p.graph, diagnose.DefaultConfig())
	if err != nil {
		p.t.Fatal(err)
	}
	if err := fresh.Load(saved); err != nil {
		p.t.Fatal(err)
	}
	if again := fresh.Save(); !bytes.Equal(saved.Bytes, again.Bytes) {
		p.t.Errorf("what was loaded is saved otherwise: %d and %d bytes", len(saved.Bytes), len(again.Bytes))
	}
	p.stage = fresh
}

// converging plays jobs that send to one place of a fabric, with uneven amounts so that sums depend on their
// order, and returns all diagnoses as JSON and the final state.
func converging(t *testing.T, spec string, sender func(i int) string, reloadAfter int) (diagnoses, state []byte) {
	p := newPlant(t, spec)
	for j := range 4 {
		var nodes []string
		for n := range 12 {
			nodes = append(nodes, sender(12*j+n))
		}
		p.job(fmt.Sprint(j), nodes...)
	}
	p.hasUse = true
	for i := range 40 {
		if i == 20 {
			p.fails(schema.LinkFailed, p.graph.Device(0).Name, "")
			var links []schema.LinkID
			for l := schema.LinkID(0); int(l) < p.graph.NumLinks(); l += 3 {
				links = append(links, l)
				p.stall[l], p.use[l] = 5+70*p.rng.Float64(), 100*p.rng.Float64()
			}
			p.regions = append(p.regions, links, links[:len(links)/2], links[len(links)/3:])
			p.moved["1"] = 40 * usual
		}
		if i == reloadAfter {
			p.reload()
		}
		line, err := json.Marshal(p.step(1))
		if err != nil {
			t.Fatal(err)
		}
		diagnoses = append(append(diagnoses, line...), '\n')
	}
	return diagnoses, p.stage.Save().Bytes
}

// TestTheSameInputGivesTheSameBytes: the diagnoses of a live run and of its replay are equal byte by byte.
func TestTheSameInputGivesTheSameBytes(t *testing.T) {
	for _, c := range []struct {
		spec   string
		sender func(i int) string
	}{
		{"torus:4x4x4", func(i int) string { return fmt.Sprintf("%d,%d,%d", i%4, i/4%4, i/16%4) }},
		{"fattree:k=6", func(i int) string { return fmt.Sprintf("host%d", i) }},
	} {
		for _, reloadAfter := range []int{-1, 25} {
			first, firstState := converging(t, c.spec, c.sender, reloadAfter)
			for range 4 { // map order differs each time
				again, state := converging(t, c.spec, c.sender, reloadAfter)
				if !bytes.Equal(first, again) {
					t.Fatalf("%s, reloaded after %d: diagnoses differ", c.spec, reloadAfter)
				}
				if !bytes.Equal(firstState, state) {
					t.Fatalf("%s, reloaded after %d: states differ", c.spec, reloadAfter)
				}
			}
		}
	}
}
