package bench_test

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/giverny/giverny/search"
	"github.com/giverny/giverny/search/bench"
)

// Exactly the workloads that break a part show a symptom, deterministically for a seed.
func TestPhysical(t *testing.T) {
	shows(t, 8, func(seed uint64) bench.Subject { return bench.GeneratePhysical(seed) })
}

// The same for units of a NIC and their faults.
func TestHardware(t *testing.T) {
	shows(t, 10, func(seed uint64) bench.Subject { return bench.GenerateHardware(seed) })
}

func shows(t *testing.T, least int, generate func(seed uint64) bench.Subject) {
	t.Helper()
	const workloads = 1500
	for seed := uint64(1); seed <= 2; seed++ {
		p, again := generate(seed), generate(seed)
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
		if total := len(p.Truth()); total < least || len(broken) == 0 {
			t.Errorf("seed %d: of %d anomalies random workloads showed %d, want %d or more and some shown", seed, total, len(broken), least)
		}
	}
}
