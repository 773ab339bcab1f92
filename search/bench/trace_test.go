package bench

import (
	"fmt"
	"github.com/giverny/giverny/search"
	"github.com/giverny/giverny/search/simulated"
	"os"
	"strconv"
	"testing"
)

func TestTrace(t *testing.T) {
	seed, _ := strconv.Atoi(os.Getenv("SEED"))
	n, _ := strconv.Atoi(os.Getenv("N"))
	var eng Subject
	eng, _ = simulated.New("F", uint64(seed), simulated.Flakiness{})
	if os.Getenv("GEN") != "" {
		eng = Generate(uint64(seed))
	}
	d := eng.Describe()
	space, _ := search.NewSpace(d.Dimensions)
	s, _ := search.New(d, space, search.Config{Algorithm: search.Lift, Budget: n, Seed: uint64(seed)})
	i := 0
	for {
		w, ok := s.Next(0)
		if !ok {
			break
		}
		m := eng.Measure(w)
		if m.Status != search.Invalid {
			i++
		}
		text, _ := w.MarshalJSON()
		fmt.Println(i, m.Status, eng.Anomalies(w), d.Judge(&m), string(text))
		for _, f := range s.Observe(0, m) {
			fmt.Println("   *** of", f.Anomaly.Experiment, "revised", f.Revised, f.Anomaly.MFS)
		}
	}
}
