package search_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/giverny/giverny/search"
	"github.com/giverny/giverny/search/simulated"
)

type tally struct {
	at          map[int]int // anomaly number -> experiment
	dims, exact int
	judged      int
	spurious    int
}

func play(t testing.TB, subsystem string, alg search.Algorithm, budget int, seed uint64, flaky simulated.Flakiness) tally {
	eng, err := simulated.New(subsystem, seed, flaky)
	if err != nil {
		t.Fatal(err)
	}
	d := eng.Describe()
	space, err := search.NewSpace(d.Dimensions)
	if err != nil {
		t.Fatal(err)
	}
	s, err := search.New(d, space, search.Config{Algorithm: alg, Budget: budget, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got := tally{at: map[int]int{}}
	for {
		w, ok := s.Next(0)
		if !ok {
			break
		}
		s.Observe(0, eng.Measure(w))
	}
	truth := eng.Truth()
	for _, a := range s.Anomalies() {
		numbers := eng.Anomalies(a.Workload)
		if len(numbers) == 0 {
			got.spurious++
			continue
		}
		best := [2]bool{}
		for _, n := range numbers {
			want, _ := space.ParseMFS([]byte(truth[n]))
			dims, exact := search.Compare(a.MFS, want)
			if exact {
				best = [2]bool{true, true}
			} else if dims && !best[0] {
				best[0] = true
			}
			if old, ok := got.at[n]; !ok || a.Experiment < old {
				if len(numbers) == 1 || exact || dims {
					got.at[n] = a.Experiment
				}
			}
		}
		got.judged++
		if best[0] {
			got.dims++
		}
		if best[1] {
			got.exact++
		}
		if testing.Verbose() && !best[1] {
			text, _ := a.MFS.MarshalJSON()
			for _, n := range numbers {
				fmt.Println("  #", n, "got", string(text), "want", truth[n])
			}
		}
	}
	return got
}

func TestScores(t *testing.T) {
	for _, sub := range []string{"F"} {
		for _, alg := range search.Algorithms()[:1] {
			each := map[int][]int{}
			var all []int
			var t600, t1200, t1800, dims, exact, judged, spurious float64
			n := 16
			total := map[string]int{"F": 13, "H": 5}[sub]
			for seed := range n {
				g := play(t, sub, alg, 1800, uint64(seed+1), simulated.Flakiness{})
				var when []int
				for k, e := range g.at {
					each[k] = append(each[k], e)
					when = append(when, e)
					if e <= 600 {
						t600++
					}
					if e <= 1200 {
						t1200++
					}
					t1800++
				}
				slices.Sort(when)
				if len(when) == total {
					all = append(all, when[total-1])
				} else {
					all = append(all, 99999)
				}
				dims += float64(g.dims)
				exact += float64(g.exact)
				judged += float64(g.judged)
				spurious += float64(g.spurious)
			}
			slices.Sort(all)
			for k := range 19 {
				if v := each[k]; v != nil {
					slices.Sort(v)
					fmt.Print(k, ": ", len(v), "/", n, " med ", v[len(v)/2], "; ")
				}
			}
			fmt.Println()
			f := float64(n)
			fmt.Printf("%s %-15s @600 %.1f @1200 %.1f @1800 %.1f median all %d; dims %.0f%% exact %.0f%% reported %.1f spurious %.1f\n", sub, alg, t600/f, t1200/f, t1800/f, all[n/2], 100*dims/judged, 100*exact/judged, judged/f, spurious/f)
		}
	}
}
