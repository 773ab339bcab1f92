package collective_test

import (
	"fmt"
	"math"
	"math/rand"
	"testing"

	"github.com/giverny/giverny/collective"
)

// For one background flow between random hosts: only it is named, with the cost that
// the model has without it.
func TestRandomFlowIsNamed(t *testing.T) {
	random := rand.New(rand.NewSource(5))
	for range 8 {
		m := newModel()
		m.choose = random.Intn(2)
		from, to := 12+random.Intn(8), 12+random.Intn(7)
		if to >= from {
			to++
		}
		m.background(from, to, float64(30+random.Intn(90))*1e6, int64(random.Intn(100))*1e6)
		run := m.run()
		for _, f := range m.others {
			run.Flows = append(run.Flows, collective.Flow{Source: f.source, Destination: f.destination, SourcePort: 10001, DestinationPort: 10001, Bytes: int64(f.bytes), BeginNanos: f.begin, EndNanos: f.end})
		}
		d := collective.Diagnose(run, collective.Options{})
		m.others = nil
		cost := d.MakespanNanos - collective.Diagnose(m.run(), collective.Options{}).MakespanNanos
		want := fmt.Sprintf("%d->%d", from, to)
		if len(d.Culprits) != 1 || d.Culprits[0].Flow != want || math.Abs(float64(d.Culprits[0].CostNanos)/float64(cost)-1) > 0.05 {
			t.Errorf("%s costs %d\n%s", want, cost, d.Text)
		}
		if class := d.Culprits[0].Class; class != collective.BackgroundFlow && class != collective.HostNICContention {
			t.Errorf("%s", d.Text)
		}
	}
}
