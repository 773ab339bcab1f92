package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/giverny/giverny/diagnose"
	"github.com/giverny/giverny/diagnose/bench"
	"github.com/giverny/giverny/internal/table"
)

// follow plays the incidents of a part and scores how steadily their regions are tracked.
func (o *options) follow(p *part) error {
	sets := append(bench.Sets(), bench.Faint())
	set := sets[slices.IndexFunc(sets, func(s bench.Set) bool { return s.Name == p.set })]
	for seed := o.seed; seed < o.seed+int64(o.samples); seed++ {
		in, err := set.Incident(p.kind, seed)
		if err != nil {
			return err
		}
		stage, err := diagnose.New(in.Graph(), diagnose.DefaultConfig())
		if err != nil {
			return err
		}
		moments, err := in.Watch(stage)
		if err != nil {
			return err
		}
		var one bench.Steadiness
		one.Add(moments)
		if o.verbose {
			fmt.Fprintf(&p.details, "# %s %s seed %d %s: covered %.3f, regions by spell %.2f, an hour: region changes %.2f, root changes %.2f, verdict changes %.2f, noise %.2f; held %.2f\n", in.Set, in.Kind, in.Seed, in.Topology,
				one.Covered.Value(), one.Identities.Value(), one.IdentityChanges.Value(), one.RootChanges.Value(), one.VerdictChanges.Value(), one.Noise.Value(), one.Held.Value())
		}
		p.steady.Merge(&one)
	}
	return nil
}

// printSteadiness writes a row per set and per kind. Changes and noise are per hour.
func (o *options) printSteadiness(w io.Writer, parts []*part) {
	t := table.Table{W: w, Markdown: o.markdown, Columns: []table.Column{{Name: "incidents", Width: -13}, {Name: "n", Width: 5}, {Name: "covered", Width: 15}, {Name: "regions a spell", Width: 15},
		{Name: "region changes", Width: 15}, {Name: "root changes", Width: 15}, {Name: "verdict changes", Width: 15}, {Name: "held", Width: 15}, {Name: "noise", Width: 15}}}
	sums := map[string]*bench.Steadiness{}
	var names []string
	for _, nameOf := range []func(*part) string{func(p *part) string { return p.set }, func(p *part) string { return string(p.kind) }, func(*part) string { return "all" }} {
		for _, p := range parts {
			name := nameOf(p)
			if sums[name] == nil {
				sums[name] = &bench.Steadiness{}
				names = append(names, name)
			}
			sums[name].Merge(&p.steady)
		}
	}
	for _, p := range parts {
		_, _ = p.details.WriteTo(w)
	}
	t.Head()
	for _, name := range names {
		s := sums[name]
		t.Row(name, fmt.Sprint(s.Incidents), mean(s.Covered, 3), mean(s.Identities, 2), mean(s.IdentityChanges, 2), mean(s.RootChanges, 2), mean(s.VerdictChanges, 2), mean(s.Held, 2), mean(s.Noise, 2))
	}
}

func mean(m bench.Mean, digits int) string {
	return fmt.Sprintf("%.*f ± %.*f", digits, m.Value(), digits, m.Error())
}
