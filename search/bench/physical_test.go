package bench_test

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/giverny/giverny/search"
	"github.com/giverny/giverny/search/bench"
)

// Workloads that break a part show a symptom, and no others do; a seed gives the same again.
func TestPhysical(t *testing.T) {
	const workloads = 1500
	for seed := uint64(1); seed <= 2; seed++ {
		p, again := bench.GeneratePhysical(seed), bench.GeneratePhysical(seed)
		d := p.Describe()
		if !reflect.DeepEqual(d, again.Describe()) {
			t.Fatalf("seed %d: another description", seed)
		}
		space, err := search.NewSpace(d.Dimensions)
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(seed, 1))
		broken := map[int]bool{}
		for range workloads {
			w := space.Random(r, nil)
			m := p.Measure(w)
			if !reflect.DeepEqual(m, again.Measure(w)) {
				t.Fatalf("seed %d: another measurement", seed)
			}
			if m.Status == search.Invalid {
				continue
			}
			if err := m.Check(); err != nil {
				t.Fatal(err)
			}
			numbers := p.Anomalies(w)
			if shown := d.Judge(&m) != search.Healthy; shown != (len(numbers) > 0) {
				t.Fatalf("seed %d: %+v of a workload that breaks %v", seed, m, numbers)
			}
			for _, n := range numbers {
				broken[n] = true
			}
		}
		if total := len(p.Truth()); total < 8 || len(broken) == 0 {
			t.Errorf("seed %d: of %d parts random workloads broke %d, want 8 or more and some broken", seed, total, len(broken))
		}
	}
}
