//go:build integration

package linkhealth_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/collectors/collectortest"
	"github.com/giverny/giverny/collectors/perfquery"
	"github.com/giverny/giverny/ingest/window"
	"github.com/giverny/giverny/internal/test/ibsim"
	"github.com/giverny/giverny/linkhealth"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// live is a simulated subnet with the real tools, the collector, the window and the
// monitor. Sweeps have timestamps a second apart, regardless of how long they take.
type live struct {
	t       *testing.T
	subnet  *ibsim.Subnet
	sweeper *perfquery.Collector
	window  *window.Window
	monitor *linkhealth.Monitor
	second  int64
}

const epoch = 1_700_000_000 * int64(time.Second)

func newLive(t *testing.T, tree ibsim.FatTree) *live {
	l := &live{t: t, subnet: ibsim.Start(t, tree.Netlist())}
	g, _, err := topology.ReadIBNetDiscover(strings.NewReader(l.subnet.Output("ibnetdiscover")), "ibnetdiscover", "test", nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg := window.DefaultConfig()
	cfg.Interval, cfg.ClockLateness = time.Second, time.Second
	if l.window, err = window.New(g, cfg); err != nil {
		t.Fatal(err)
	}
	if l.monitor, err = linkhealth.New(g, linkhealth.DefaultConfig()); err != nil {
		t.Fatal(err)
	}
	sweeps := perfquery.DefaultConfig()
	sweeps.Command, sweeps.DiscoverEvery = l.subnet.Prefix(), time.Millisecond
	// A killed tool keeps its slot in the simulator, which has ten; and a recovered device is polled soon.
	sweeps.QueryTimeout, sweeps.DiscoverTimeout, sweeps.MaxBackoffPolls = time.Minute, time.Minute, 4
	if l.sweeper, err = perfquery.New(sweeps); err != nil {
		t.Fatal(err)
	}
	return l
}

// sweep runs some intervals and returns their events, one per line.
func (l *live) sweep(n int) (events []string) {
	l.t.Helper()
	for range n {
		batches := collectortest.Poll(l.t, l.sweeper, 2)
		at := epoch + l.second*int64(time.Second)
		for _, b := range batches {
			b.Fabric = "test"
			for i := range b.TimeNanos {
				b.TimeNanos[i] = at + 1
			}
			if err := l.window.Add(b); err != nil {
				l.t.Fatal(err)
			}
		}
		l.second++
		l.window.Advance(at+2*int64(time.Second), at+2*int64(time.Second))
		for s := l.window.Next(); s != nil; s = l.window.Next() {
			var raw []*schema.CounterBatch
			if s.Interval.StartNanos == at {
				raw = batches
			}
			for _, e := range l.monitor.Step(s, raw, nil) {
				events = append(events, fmt.Sprintf("%s %s/%s: %s", e.Kind, e.Device, e.Port, e.Detail))
			}
			l.window.Recycle(s)
		}
	}
	return events
}

// settle sweeps until there was an event, then as often again, at most 20 times: on a
// busy machine the simulator refuses some connections.
func (l *live) settle() (events []string) {
	for range 20 {
		if events = append(events, l.sweep(1)...); len(events) > 0 {
			return append(events, l.sweep(4)...)
		}
	}
	return nil
}

// duration matches how long it is missing, which is longer if the simulator refuses connections.
var duration = regexp.MustCompile(`not reporting for \d+ intervals( \(normally [^)]*\))?`)

func (l *live) want(events []string, want string) {
	l.t.Helper()
	if len(events) != 1 || duration.ReplaceAllString(events[0], "not reporting") != want {
		l.t.Errorf("events:\n%s\nwant\n%s", strings.Join(events, "\n"), want)
	}
}

// An unlinked spine, a leaf with its hosts, and one cable are one event each, and one
// more when they recover.
func TestLiveSubnet(t *testing.T) {
	tree := ibsim.FatTree{Leaves: 3, Spines: 2, HostsPerLeaf: 2}
	l := newLive(t, tree)
	if events := l.sweep(4); len(events) > 0 {
		t.Fatalf("events of a subnet that is well: %q", events)
	}
	for _, c := range []struct {
		node         string
		failed, back string
	}{
		{fmt.Sprintf("%q", tree.Spine(1)),
			"switch_failed spine1/: not reporting, and its neighbours see their links to it down: ports 1-3 to leaf0-2",
			"switch_restored spine1/: switch is back: ports 1-3 to leaf0-2"},
		{fmt.Sprintf("%q", tree.Leaf(2)),
			"switch_failed leaf2/: not reporting, and its neighbours see their links to it down: ports 1-4 to node4 mlx5_0, node5 mlx5_0, spine0-1; cuts off node4 mlx5_0, node5 mlx5_0",
			"switch_restored leaf2/: switch is back: ports 1-4 to node4 mlx5_0, node5 mlx5_0, spine0-1"},
		{fmt.Sprintf("%q[%d]", tree.Leaf(1), tree.Uplink(0, 0)),
			"link_failed leaf1/3: link to spine0 port 2 is down: leaf1 port 3 is in state down",
			"link_restored leaf1/3: link to spine0 port 2 is back"},
		{fmt.Sprintf("%q", tree.Host(5)),
			"node_failed node5 mlx5_0/: not reporting, and its neighbours see their links to it down: port 1 to leaf2",
			"node_restored node5 mlx5_0/: node is back: port 1 to leaf2"},
	} {
		l.subnet.Console("Unlink " + c.node)
		l.want(l.settle(), c.failed)
		l.subnet.Console("ReLink " + c.node)
		l.want(l.settle(), c.back)
	}
}
