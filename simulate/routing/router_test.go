package routing_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/topology"
	"github.com/giverny/giverny/topology/topologytest"
)

func fabric(t testing.TB, spec string) *routing.Channels {
	t.Helper()
	g := topologytest.Parse(t, "f", spec)
	return routing.NewChannels(g)
}

func router(t testing.TB, c *routing.Channels, p routing.Policy) *routing.Router {
	t.Helper()
	r, err := routing.New(c, p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func device(t testing.TB, c *routing.Channels, name string) topology.DeviceID {
	t.Helper()
	d, ok := c.Graph().FindDevice(name)
	if !ok {
		t.Fatalf("no device %q", name)
	}
	return d
}

// names formats a path as the ports that it leaves by.
func names(c *routing.Channels, path []routing.Channel) string {
	var s []string
	for _, ch := range path {
		s = append(s, c.Name(ch))
	}
	return strings.Join(s, " | ")
}

func TestPaths(t *testing.T) {
	for _, test := range []struct {
		name, spec string
		policy     routing.Policy
		src, dst   string
		want       string
	}{
		{"X, then Y, then Z", "torus:8x8x8", "", "0,0,0", "1,2,1", "0,0,0 X+ | 1,0,0 Y+ | 1,1,0 Y+ | 1,2,0 Z+"},
		{"the shorter way wraps", "torus:8x8x8", "", "1,0,0", "7,0,7", "1,0,0 X- | 0,0,0 X- | 7,0,0 Z-"},
		{"a tie from an even place goes +", "torus:4x4", "", "0,0", "2,0", "0,0 X+ | 1,0 X+"},
		{"a tie from an odd place goes -", "torus:4x4", "", "1,0", "3,0", "1,0 X- | 0,0 X-"},
		{"a ring of two", "torus:2x4", "", "0,0", "1,0", "0,0 X+"},
		{"a mesh does not wrap", "mesh:4x4", "", "0,0", "3,0", "0,0 X+ | 1,0 X+ | 2,0 X+"},
		{"to itself", "torus:4x4", "", "1,1", "1,1", ""},
		{"down and up one leaf", "fattree:leaves=2,hosts=2,spines=2", "", "host0", "host1", "host0 1 | leaf0 2"},
		{"the destination's number chooses the spine", "fattree:leaves=2,hosts=2,spines=2", routing.DModK, "host0", "host2", "host0 1 | leaf0 3 | spine0 2 | leaf1 1"},
		{"and another the other", "fattree:leaves=2,hosts=2,spines=2", routing.DModK, "host0", "host3", "host0 1 | leaf0 4 | spine1 2 | leaf1 2"},
		{"local, global, local", "dragonfly:groups=3,routers=2,hosts=1", "", "host0", "host3", "host0 1 | router0-0 3 | router1-1 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := fabric(t, test.spec)
			path, ok := router(t, c, test.policy).Append(nil, device(t, c, test.src), device(t, c, test.dst), 0)
			if got := names(c, path); !ok || got != test.want {
				t.Errorf("%s to %s: %s, %v; want %s", test.src, test.dst, got, ok, test.want)
			}
		})
	}
}

func TestDetour(t *testing.T) {
	c := fabric(t, "torus:8x8x8")
	r := router(t, c, routing.Directional)
	src, dst := device(t, c, "0,0,0"), device(t, c, "1,0,0")
	ch, err := c.Find("0,0,0 X+")
	if err != nil {
		t.Fatal(err)
	}
	c.SetUp(ch, false)
	path, ok := r.Append(nil, src, dst, 0)
	if !ok || len(path) != 3 || !c.Intact(path) {
		t.Errorf("round a dead link: %s, %v; want three channels that are up", names(c, path), ok)
	}
	for _, out := range c.Out(src) {
		c.SetUp(out, false)
	}
	if path, ok = r.Append(path[:0], src, dst, 0); ok || len(path) != 0 {
		t.Errorf("from a switch with no way out: %s, %v; want none", names(c, path), ok)
	}
	c.SetUp(ch, true)
	if path, ok = r.Append(path[:0], src, dst, 0); !ok || len(path) != 1 {
		t.Errorf("after the repair: %s, %v; want the link itself", names(c, path), ok)
	}
}

// Hosts whose ports are up in different planes only have no route; others use a plane that both have.
func TestPlanes(t *testing.T) {
	c := fabric(t, "fattree:leaves=2,hosts=2,spines=2,planes=3")
	r := router(t, c, "")
	src, dst := device(t, c, "host0"), device(t, c, "host3")
	down := func(names ...string) {
		t.Helper()
		for _, name := range names {
			ch, err := c.Find(name)
			if err != nil {
				t.Fatal(err)
			}
			c.SetUp(ch, false)
		}
	}
	used := map[topology.DeviceID]bool{}
	for flow := range uint64(64) {
		path, ok := r.Append(nil, src, dst, flow)
		if !ok || len(path) != 4 {
			t.Fatalf("flow %d: %s, %v", flow, names(c, path), ok)
		}
		_, leaf := c.Ends(path[0])
		used[leaf] = true
	}
	if len(used) != 3 {
		t.Errorf("%d planes are used, want 3", len(used))
	}
	down("host0 1", "leaf1-1 2") // plane 0 of the source, plane 1 of the destination
	for flow := range uint64(64) {
		if path, ok := r.Append(nil, src, dst, flow); !ok || c.Name(path[0]) != "host0 3" || !c.Intact(path) {
			t.Errorf("flow %d: %s, %v; want the plane that is left", flow, names(c, path), ok)
		}
	}
	if path, ok := r.AppendBy(nil, c.Out(src)[1], c.In(dst)[2], 0); ok || len(path) > 0 {
		t.Errorf("from one plane to another: %s", names(c, path))
	}
	down("host0 3")
	if path, ok := r.Append(nil, src, dst, 0); ok {
		t.Errorf("without a common plane: %s", names(c, path))
	}
}

func TestErrors(t *testing.T) {
	c := fabric(t, "fattree:leaves=2,hosts=2,spines=2")
	for _, p := range []routing.Policy{routing.Directional, routing.Minimal, "scenic"} {
		if _, err := routing.New(c, p); err == nil {
			t.Errorf("policy %q on a fat tree must be an error", p)
		}
	}
	for _, name := range []string{"leaf0", "leaf9 1", "leaf0 77"} {
		if _, err := c.Find(name); err == nil {
			t.Errorf("link %q must be an error", name)
		}
	}
}

// D-mod-K on a full fat tree gives every flow of a shift its own channel (Zahavi,
// 2010).
func TestDModKShiftsDoNotCollide(t *testing.T) {
	c := fabric(t, "fattree:k=8")
	r := router(t, c, routing.DModK)
	hosts := c.Graph().Hosts()
	for _, distance := range []int{1, 4, 16, 37, 64, 127} {
		used := make([]int, c.Len())
		for i, src := range hosts {
			path, ok := r.Append(nil, src, hosts[(i+distance)%len(hosts)], 0)
			if !ok {
				t.Fatal("a healthy tree is connected")
			}
			for _, ch := range path {
				if used[ch]++; used[ch] > 1 {
					t.Fatalf("shift by %d: %s carries two flows", distance, c.Name(ch))
				}
			}
		}
	}
}

func TestECMPSpreads(t *testing.T) {
	c := fabric(t, "fattree:k=8")
	r := router(t, c, routing.ECMP)
	seen := map[routing.Channel]bool{}
	src, dst := device(t, c, "host0"), device(t, c, "host127")
	for flow := range uint64(200) {
		path, _ := r.Append(nil, src, dst, flow)
		seen[path[2]] = true
	}
	if len(seen) != 16 {
		t.Errorf("200 flows between two pods use %d of 16 channels to the cores", len(seen))
	}
}

func TestDragonflyGlobals(t *testing.T) {
	c := fabric(t, "dragonfly:groups=9,routers=4,hosts=2")
	for policy, most := range map[routing.Policy]int{routing.Minimal: 1, routing.Valiant: 2} {
		r := router(t, c, policy)
		hosts := c.Graph().Hosts()
		twice := 0
		for i, src := range hosts {
			for j, dst := range hosts {
				path, ok := r.Append(nil, src, dst, uint64(i*len(hosts)+j))
				if !ok {
					t.Fatal("a healthy dragonfly is connected")
				}
				checkPath(t, c, path, src, dst)
				globals := 0
				for _, ch := range path {
					if c.Graph().Link(c.Link(ch)).Class == topology.ClassGlobal {
						globals++
					}
				}
				if globals > most {
					t.Fatalf("%s: %d global channels: %s", policy, globals, names(c, path))
				}
				if globals == 2 {
					twice++
				}
			}
		}
		if policy == routing.Valiant && twice == 0 {
			t.Error("valiant never goes by a third group")
		}
	}
}

func checkPath(t require, c *routing.Channels, path []routing.Channel, src, dst topology.DeviceID) {
	at := src
	for _, ch := range path {
		from, to := c.Ends(ch)
		if from != at || !c.Up(ch) {
			t.Fatalf("path %s breaks at %s", names(c, path), c.Name(ch))
		}
		at = to
	}
	if at != dst {
		t.Fatalf("path %s ends at %s", names(c, path), c.Graph().Device(at).Name)
	}
}

type require interface{ Fatalf(string, ...any) }

// On any fabric with any channels down, a path is found exactly when a plain
// breadth-first search finds one; it is connected and up, and for shortest-path
// policies equally short.
func TestPathsAgainstSearch(t *testing.T) {
	specs := []string{"torus:4x3x5", "mesh:3x4", "fattree:k=4", "fattree:leaves=3,hosts=2,spines=3", "dragonfly:groups=4,routers=3,hosts=1"}
	rapid.Check(t, func(t *rapid.T) {
		g := topologytest.Parse(t, "f", rapid.SampledFrom(specs).Draw(t, "spec"))
		c := routing.NewChannels(g)
		policy := rapid.SampledFrom([]routing.Policy{routing.Default, routing.ECMP, routing.DModK}).Draw(t, "policy")
		r, err := routing.New(c, policy)
		if err != nil {
			t.Fatal(err)
		}
		for _, ch := range rapid.SliceOfN(rapid.IntRange(0, c.Len()-1), 0, c.Len()/3).Draw(t, "down") {
			c.SetUp(routing.Channel(ch), false)
		}
		hosts := g.Hosts()
		src, dst := rapid.SampledFrom(hosts).Draw(t, "src"), rapid.SampledFrom(hosts).Draw(t, "dst")
		path, ok := r.Append(nil, src, dst, rapid.Uint64().Draw(t, "flow"))
		want := search(c, src, dst)
		if ok != (want >= 0) {
			t.Fatalf("found %v, search says %d", ok, want)
		}
		if !ok {
			return
		}
		checkPath(t, c, path, src, dst)
		if len(path) < want || r.Policy() != routing.Minimal && len(path) != want && len(path) != healthy(t, g, policy, src, dst) {
			t.Fatalf("%s: %d channels, search says %d", names(c, path), len(path), want)
		}
	})
}

// healthy is the length of the native path, which is kept if intact, even if it is not
// the shortest.
func healthy(t require, g *topology.Graph, policy routing.Policy, src, dst topology.DeviceID) int {
	r, err := routing.New(routing.NewChannels(g), policy)
	if err != nil {
		t.Fatalf("%v", err)
	}
	path, _ := r.Append(nil, src, dst, 0)
	return len(path)
}

// search counts the channels of a shortest path, -1 without one. Hosts do not
// forward.
func search(c *routing.Channels, src, dst topology.DeviceID) int {
	dist := map[topology.DeviceID]int{src: 0}
	for queue := []topology.DeviceID{src}; len(queue) > 0; queue = queue[1:] {
		d := queue[0]
		if d != src && !c.Graph().IsSwitch(d) {
			continue
		}
		for _, ch := range c.Out(d) {
			_, to := c.Ends(ch)
			if _, seen := dist[to]; c.Up(ch) && !seen {
				dist[to] = dist[d] + 1
				queue = append(queue, to)
			}
		}
	}
	if n, ok := dist[dst]; ok {
		return n
	}
	return -1
}

func TestNamesRoundTrip(t *testing.T) {
	for _, spec := range []string{"torus:3x4x2", "torus:2x2", "fattree:k=4", "dragonfly:groups=3,routers=2,hosts=1"} {
		c := fabric(t, spec)
		for ch := range routing.Channel(c.Len()) {
			if got, err := c.Find(c.Name(ch)); err != nil || got != ch {
				t.Fatalf("%s: channel %d is named %q, which finds %d, %v", spec, ch, c.Name(ch), got, err)
			}
		}
	}
}

func TestNoAllocationOnceWarm(t *testing.T) {
	for _, spec := range []string{"torus:8x8x8", "fattree:k=8", "dragonfly:groups=9,routers=4,hosts=2"} {
		c := fabric(t, spec)
		r := router(t, c, routing.Default)
		hosts := c.Graph().Hosts()
		var path []routing.Channel
		send := func() {
			for i, src := range hosts[:32] {
				path, _ = r.Append(path[:0], src, hosts[len(hosts)-1-i], uint64(i))
			}
		}
		send()
		if n := testing.AllocsPerRun(10, send); n > 0 {
			t.Errorf("%s: %v allocations per 32 paths", spec, n)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, spec := range []string{"torus:24x24x24", "fattree:k=32"} {
		b.Run(spec, func(b *testing.B) {
			c := fabric(b, spec)
			r := router(b, c, routing.Default)
			hosts := c.Graph().Hosts()
			var path []routing.Channel
			i := 0
			for b.Loop() {
				i++
				path, _ = r.Append(path[:0], hosts[i%len(hosts)], hosts[i*7919%1000], uint64(i))
			}
		})
	}
}
