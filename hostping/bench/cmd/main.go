// Command cmd prints how often hostping names each of the twelve bottlenecks on simulated hosts, how often it is silent on
// healthy ones and slight faults, how well its confidences are calibrated, and the paper's cases on the paper's topology.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/hostping/bench"
	"github.com/giverny/giverny/hostping/simulated"
)

func main() {
	trials := flag.Int("trials", 100, "of each row on each host")
	wrong := flag.Bool("wrong", false, "list what went wrong")
	flag.Parse()
	b := &printer{trials: *trials, wrong: *wrong}
	err := b.tables("default", simulated.DefaultConfig())
	if err == nil {
		err = b.tables("harsh: 400 Gb/s, noise of 5%, 8% outliers of up to 10 times", harsh())
	}
	if err == nil {
		b.calibration()
		err = paper()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// harsh is different hardware with noisier measurements.
func harsh() simulated.Config {
	cfg := simulated.DefaultConfig()
	cfg.LineGbps, cfg.ProcessMicros, cfg.OutstandingKB = 400, 2, 69
	cfg.CapacityGbps = map[hostping.Kind]float64{hostping.PCIe: 504, hostping.RootPort: 480, hostping.InterSocket: 700, hostping.Memory: 2400}
	cfg.Noise, cfg.Outliers, cfg.OutlierFactor = 0.05, 0.08, 10
	return cfg
}

type printer struct {
	trials  int
	wrong   bool
	samples []bench.Sample
}

func (b *printer) tables(name string, cfg simulated.Config) error {
	subjects, err := bench.Subjects(cfg)
	if err != nil {
		return err
	}
	fmt.Printf("Hosts %s.\n\n| bottleneck | trials | named with its place | and nothing else |\n|---|---|---|---|\n", name)
	var all bench.Tally
	for _, kind := range bench.Kinds {
		t, err := bench.Single(subjects, kind, b.trials)
		if err != nil {
			return err
		}
		b.row(string(kind), &t)
		all.Trials, all.Named, all.Right = all.Trials+t.Trials, all.Named+t.Named, all.Right+t.Right
	}
	b.row("all twelve", &all)
	t, err := bench.Pairs(subjects, b.trials)
	if err != nil {
		return err
	}
	b.row("two at once", &t)
	for _, kind := range bench.BusyKinds {
		if t, err = bench.Busy(subjects, kind, b.trials); err != nil {
			return err
		}
		b.row("busy host: "+string(kind), &t)
	}
	return b.silence(subjects)
}

// silence prints the rows in which any verdict is a false alarm.
func (b *printer) silence(subjects []*bench.Subject) error {
	fmt.Printf("\n| nothing to find | trials | silent |\n|---|---|---|\n")
	for _, row := range []struct {
		name string
		play func() (bench.Tally, error)
	}{
		{"healthy", func() (bench.Tally, error) { return bench.Healthy(subjects, 4*b.trials) }},
		{"healthy, busy", func() (bench.Tally, error) { return bench.Busy(subjects, "", 2*b.trials) }},
		{"slight", func() (bench.Tally, error) { return bench.Slight(subjects, 2*b.trials) }},
	} {
		t, err := row.play()
		if err != nil {
			return err
		}
		fmt.Printf("| %s | %d | %.2f%% |\n", row.name, t.Trials, 100*share(t.Right, t.Trials))
		b.note(&t)
	}
	fmt.Println()
	return nil
}

func (b *printer) row(name string, t *bench.Tally) {
	fmt.Printf("| %s | %d | %.1f%% | %.1f%% |\n", name, t.Trials, 100*share(t.Named, t.Trials), 100*share(t.Right, t.Trials))
	b.note(t)
}

// note collects a row's confidences, and lists wrong results.
func (b *printer) note(t *bench.Tally) {
	b.samples = append(b.samples, t.Samples...)
	for _, w := range t.Wrong {
		if b.wrong {
			fmt.Println("   ", w)
		}
	}
}

func share(part, of int) float64 { return float64(part) / float64(max(1, of)) }

func (b *printer) calibration() {
	fmt.Printf("Confidence of all verdicts above.\n\n| confidence | verdicts | mean | right |\n|---|---|---|---|\n")
	for _, row := range bench.Calibration(b.samples, []float64{0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 1}) {
		fmt.Println(row)
	}
}

// paper prints the paper's cases next to the results on its topology.
func paper() error {
	cases, err := bench.PaperCases()
	if err != nil {
		return err
	}
	fmt.Printf("\n| case | the paper says | found here |\n|---|---|---|\n")
	for _, c := range cases {
		fmt.Printf("| %s | %s | %s |\n", c.Name, c.Paper, c.Found)
	}
	return nil
}
