//go:build engine || integration

package read

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/hostping/order"
	"github.com/giverny/giverny/hostping/run"
	"github.com/giverny/giverny/hostping/simulated"
	"github.com/giverny/giverny/schema"
)

// fleet fills the store with eight runs of 5,000 hosts of one model, 8 RNICs and 16 endpoints: the
// measurements of 50 simulated hosts, one with a narrow link, repeated under other names and times.
func fleet(b *testing.B, m testModel, at time.Time) {
	b.Helper()
	machine := simulated.Machines()[slices.IndexFunc(simulated.Machines(), func(m simulated.Machine) bool { return m.Name == "nps4" })]
	g, err := hostping.ReadGraph(machine.Name, []byte(machine.XML()), hostping.Hwloc)
	if err != nil {
		b.Fatal(err)
	}
	baseline, _, err := run.TakeBaseline(b.Context(), run.Options{Graph: g, Prober: run.Simulated{Host: simulated.New(simulated.DefaultConfig(), g, 1)}})
	if err != nil {
		b.Fatal(err)
	}
	var steps []order.Step
	for i := range 50 {
		host := simulated.New(simulated.DefaultConfig(), g, uint64(i))
		if i == 0 {
			host.Inject(simulated.Fault{Bottleneck: hostping.RNICPCIeFailure, Link: "pci:mlx5_1", Share: .5})
		}
		report, err := run.Run(b.Context(), run.Options{Graph: g, Baseline: baseline, Prober: run.Simulated{Host: host}, Now: time.Now})
		if err != nil {
			b.Fatal(err)
		}
		steps = append(steps, order.Step{RunID: fmt.Sprint("monitor.", i), Agent: fmt.Sprint(i), Status: schema.CommandDone, Time: schema.InstantOf(at),
			Outcome: order.Outcome{Trigger: order.IdleHost, Mode: order.Full, Model: g.Model, Probes: report.Probes, Report: &report, Graph: &g}})
	}
	if err := m.db.StoreHostRuns(b.Context(), "seed", steps); err != nil {
		b.Fatal(err)
	}
	for _, statement := range []string{
		`INSERT INTO hostping_runs SELECT r.* REPLACE ('f' AS fabric, concat('n', toString(n.h * 50 + toUInt32(agent))) AS agent, concat('monitor.n', agent, '.', toString(n.k)) AS run_id,
			time - toIntervalHour(n.k) AS time) FROM (SELECT * FROM hostping_runs WHERE fabric = 'seed') AS r, (SELECT intDiv(number, 8) AS h, number % 8 AS k FROM numbers(800)) AS n
			SETTINGS max_block_size = 2000, max_threads = 1`,
		`OPTIMIZE TABLE hostping_runs FINAL`,
	} {
		if err := m.conn.Exec(b.Context(), statement); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFleet runs the queries of the page of hosts and giverny hostping fleet, for 5,000 hosts.
func BenchmarkFleet(b *testing.B) {
	m, ctx := newModel(b), b.Context()
	at := time.Now()
	fleet(b, m, at)
	span := Span{schema.InstantOf(at.Add(-48 * time.Hour)), schema.InstantOf(at.Add(time.Hour))}
	for name, ask := range map[string]func() (int, error){
		"HostStates": func() (int, error) { list, err := m.HostStates(ctx, "f", span, "", MaxHosts); return len(list), err },
		"HostOutliers": func() (int, error) {
			list, err := m.HostOutliers(ctx, "f", span, "", 20, MaxHosts)
			return len(list), err
		},
		"HostReport": func() (int, error) { _, err := m.HostReport(ctx, "f", "n4242", ""); return 1, err },
	} {
		b.Run(name+"/hosts=5000", func(b *testing.B) {
			rows := 0
			for b.Loop() {
				var err error
				if rows, err = ask(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(rows), "rows")
		})
	}
}
