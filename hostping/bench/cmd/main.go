// Command cmd prints how often hostping names each of the twelve bottlenecks on simulated hosts, how often it is
// silent on healthy ones and on slight faults, and how sure its confidences are.
package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"

	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/hostping/bench"
	"github.com/giverny/giverny/hostping/simulated"
)

func main() {
	trials := flag.Int("trials", 40, "of each kind on each host")
	wrong := flag.Bool("wrong", false, "list what went wrong")
	flag.Parse()
	if err := table(*trials, *wrong); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func table(trials int, wrong bool) error {
	subjects, err := bench.Subjects(simulated.DefaultConfig())
	if err != nil {
		return err
	}
	note := func(o *bench.Outcome, s *bench.Subject) {
		if wrong && !o.Right {
			fmt.Println("   ", s.Name, o)
		}
	}
	for _, kind := range bench.Kinds {
		if kind == hostping.MemoryChannelFlapping {
			continue
		}
		n, right := 0, 0
		for _, s := range subjects {
			for i := range trials {
				random := rand.New(rand.NewPCG(uint64(i), 1))
				f, ok := s.Draw(kind, random)
				if !ok {
					continue
				}
				o, err := s.Play(uint64(i), []simulated.Fault{f}, nil)
				if err != nil {
					return err
				}
				n++
				if o.Right {
					right++
				}
				note(&o, s)
			}
		}
		fmt.Printf("| %s | %d | %.1f%% |\n", kind, n, 100*float64(right)/float64(max(1, n)))
	}
	n, alarms := 0, 0
	for _, s := range subjects {
		for i := range 10 * trials {
			o, err := s.Play(uint64(i), nil, nil)
			if err != nil {
				return err
			}
			n++
			if !o.Right {
				alarms++
			}
			note(&o, s)
		}
	}
	fmt.Printf("| healthy | %d | %.2f%% false alarms |\n", n, 100*float64(alarms)/float64(n))
	n, both := 0, 0
	for _, s := range subjects {
		for i := range 5 * trials {
			random := rand.New(rand.NewPCG(uint64(i), 2))
			a, ok := s.Draw(bench.Kinds[random.IntN(12)], random)
			b, ok2 := s.Draw(bench.Kinds[random.IntN(12)], random)
			if !ok || !ok2 || a.Bottleneck == hostping.MemoryChannelFlapping || b.Bottleneck == hostping.MemoryChannelFlapping || !s.Separable(&a, &b) {
				continue
			}
			o, err := s.Play(uint64(i), []simulated.Fault{a, b}, nil)
			if err != nil {
				return err
			}
			n++
			if o.Named == 2 {
				both++
			}
			note(&o, s)
		}
	}
	fmt.Printf("| two faults | %d | %.2f%% both named |\n", n, 100*float64(both)/float64(n))
	return nil
}
