package topology

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// maxLinks bounds the links of a specification.
const maxLinks = 8 << 20

// Parse builds a fabric from a one-line specification:
//
//	torus:24x24x24    mesh:8x8
//	fattree:leaves=4,hosts=4,spines=4    (two levels, hosts per leaf)
//	fattree:leaves=4,hosts=4,spines=4,rails=8  (a port of each host in every rail of 4 leaves, all on 4 spines)
//	fattree:leaves=4,hosts=4,spines=4,planes=2 (the same, each on 4 spines of its own)
//	fattree:k=16                         (three levels of k-port switches)
//	dragonfly:groups=9,routers=4,hosts=2 (routers per group, hosts per router)
//
// The key gbps=N sets the rate of every link of a fat tree or dragonfly in Gb/s
// (default 100).
func Parse(fabric, spec string) (*Graph, error) {
	kind, args, ok := strings.Cut(spec, ":")
	if !ok {
		return nil, fmt.Errorf("topology %q: want KIND:ARGUMENTS, for example torus:8x8x8 or fattree:k=16", spec)
	}
	i := slices.IndexFunc(builtins, func(b builtin) bool { return b.kind == kind })
	if i < 0 {
		return nil, fmt.Errorf("topology %q: unknown kind; want %s", spec, Kinds())
	}
	g, err := builtins[i].parse(fabric, args)
	if err != nil {
		return nil, fmt.Errorf("topology %q: %w", spec, err)
	}
	return g, nil
}

// builtin is a kind of specification, with its parser.
type builtin struct {
	kind  string
	parse func(fabric, args string) (*Graph, error)
}

var builtins = []builtin{{"torus", parseTorus}, {"mesh", parseMesh}, {"fattree", parseFatTree}, {"dragonfly", parseDragonfly}}

// IsSpec distinguishes a specification such as torus:8x8x8 from a file name.
func IsSpec(s string) bool {
	kind, _, ok := strings.Cut(s, ":")
	return ok && slices.ContainsFunc(builtins, func(b builtin) bool { return b.kind == kind })
}

// Kinds lists the kinds of specification for messages, as in "torus, mesh or fattree".
func Kinds() string {
	var text strings.Builder
	for i, b := range builtins {
		switch {
		case i == len(builtins)-1:
			text.WriteString(" or ")
		case i > 0:
			text.WriteString(", ")
		}
		text.WriteString(b.kind)
	}
	return text.String()
}

func parseTorus(fabric, args string) (*Graph, error) { return parseGrid(fabric, args, true) }

func parseMesh(fabric, args string) (*Graph, error) { return parseGrid(fabric, args, false) }

func parseGrid(fabric, args string, wrap bool) (*Graph, error) {
	var dims []int
	for _, f := range strings.Split(args, "x") {
		n, err := strconv.Atoi(f)
		const most = 1 << 16
		if err != nil || n < 2 || n > most {
			return nil, fmt.Errorf("dimension %q: want numbers from 2 to %d, as in 8x8x8", f, most)
		}
		dims = append(dims, n)
	}
	return NewGrid(fabric, dims, wrap)
}

// Capacities of Gemini's aggregated links in bytes per second (Monet, section 2): X and
// Y by the number of tiles, Z by whether the link stays within its cabinet.
const (
	geminiX     = 9.4e9
	geminiY     = 4.7e9
	geminiZ     = 15e9
	geminiZFar  = 9.4e9
	geminiEvery = 8 // one Z link in eight leaves the cabinet
)

var dimNames = "XYZWVUTS"

// NewGrid builds a torus or mesh of switches with the aggregated, duplex channels of
// Gemini as links: one per switch and dimension, leaving the switch in + direction. On
// a torus link dim + k*(x + X*(y + Y*z)) leaves (x, y, z), where k is the number of
// dimensions; ports are named "X+", "X-", "Y+", ...
func NewGrid(fabric string, dims []int, wrap bool) (*Graph, error) {
	if len(dims) < 1 || len(dims) > len(dimNames) {
		return nil, fmt.Errorf("%d dimensions: want 1 to %d", len(dims), len(dimNames))
	}
	grid := Grid{Dims: append([]int(nil), dims...), Wrap: wrap}
	links := len(dims)
	for _, d := range dims {
		if links *= d; links > maxLinks {
			return nil, fmt.Errorf("more than %d links", maxLinks)
		}
	}
	b := NewBuilder(fabric)
	b.SetDuplex()
	b.SetGrid(grid)
	n := grid.Switches()
	for s := range n {
		c := make([]int, len(dims))
		grid.Coord(s, c)
		b.Device(Device{Name: coordName(c), Kind: Switch, Level: -1, Group: -1, Coord: c})
	}
	peer := make([]int, len(dims))
	for s := range n {
		for dim, size := range dims {
			grid.Coord(s, peer)
			at := peer[dim]
			if at+1 == size && !wrap {
				continue
			}
			peer[dim] = (at + 1) % size
			b.Link(Link{From: DeviceID(s), To: DeviceID(grid.Number(peer)), FromPort: dimNames[dim:dim+1] + "+",
				ToPort: dimNames[dim:dim+1] + "-", CapacityBytesPerSecond: geminiCapacity(dim, at), Class: ClassTorus, Dim: int8(dim)})
		}
	}
	return b.Build()
}

func geminiCapacity(dim, at int) float64 {
	switch {
	case dim == 1:
		return geminiY
	case dim == 2 && at%geminiEvery == geminiEvery-1:
		return geminiZFar
	case dim == 2:
		return geminiZ
	}
	return geminiX
}

// coordName is the name of a grid switch: "3,0,12".
func coordName(c []int) string {
	var sb strings.Builder
	for i, x := range c {
		if i > 0 {
			sb.WriteByte(',')
		}
		sb.WriteString(strconv.Itoa(x))
	}
	return sb.String()
}

type keyValues map[string]int

const largestArgument = 1 << 20 // of a specification

func parseKeyValues(args string, allowed ...string) (keyValues, error) {
	kv := keyValues{}
	for _, f := range strings.Split(args, ",") {
		k, v, ok := strings.Cut(f, "=")
		i := sort.SearchStrings(allowed, k)
		if !ok || i == len(allowed) || allowed[i] != k {
			return nil, fmt.Errorf("argument %q: want key=number with a key of %v", f, allowed)
		}
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 || n > largestArgument {
			return nil, fmt.Errorf("argument %q: want a number from 1 to %d", f, largestArgument)
		}
		if _, twice := kv[k]; twice {
			return nil, fmt.Errorf("argument %q is duplicated", k)
		}
		kv[k] = n
	}
	return kv, nil
}

func (kv keyValues) or(key string, otherwise int) int {
	if v, ok := kv[key]; ok {
		return v
	}
	return otherwise
}

func (kv keyValues) need(keys ...string) error {
	for _, k := range keys {
		if _, ok := kv[k]; !ok {
			return fmt.Errorf("argument %s=N is missing", k)
		}
	}
	return nil
}

const bytesPerGigabit = 1e9 / 8

func parseFatTree(fabric, args string) (*Graph, error) {
	kv, err := parseKeyValues(args, "gbps", "hosts", "k", "leaves", "planes", "rails", "spines")
	if err != nil {
		return nil, err
	}
	capacity := float64(kv.or("gbps", 100)) * bytesPerGigabit
	if k, three := kv["k"]; three {
		if len(kv) > 2 || len(kv) == 2 && kv["gbps"] == 0 {
			return nil, errors.New("k=N fully describes a three-level fat tree; omit all others but gbps")
		}
		return NewFatTree3(fabric, k, capacity)
	}
	if err := kv.need("leaves", "hosts", "spines"); err != nil {
		return nil, err
	}
	rails, planes := kv.or("rails", 1), kv.or("planes", 1)
	if rails > 1 && planes > 1 {
		return nil, errors.New("rails and planes: want one of them; planes are rails with spines of their own")
	}
	return newFatTree2(fabric, kv["leaves"], kv["hosts"], kv["spines"], rails, planes, capacity)
}

// NewFatTree2 builds a two-level fat tree of directed links: host i is on leaf i/hosts;
// every leaf has one cable to every spine. Leaf ports 1..hosts go down, hosts+1.. go
// up; spine port l+1 goes to leaf l.
func NewFatTree2(fabric string, leaves, hosts, spines int, capacity float64) (*Graph, error) {
	return newFatTree2(fabric, leaves, hosts, spines, 1, 1, capacity)
}

// newFatTree2 builds a two-level fat tree whose hosts have a port in every rail of every plane. A rail has its own leaves,
// a plane its own spines. Port r+1 of host i is on leaf i/hosts of rail r.
func newFatTree2(fabric string, leaves, hosts, spines, rails, planes int, capacity float64) (*Graph, error) {
	if 2*leaves*(hosts+spines)*rails*planes > maxLinks {
		return nil, fmt.Errorf("more than %d links", maxLinks)
	}
	b := NewBuilder(fabric)
	cable := cabler(b, capacity)
	name := func(kind string, rail, rails, i int) string {
		if rails == 1 {
			return kind + strconv.Itoa(i)
		}
		return fmt.Sprintf("%s%d-%d", kind, rail, i)
	}
	for h := range leaves * hosts {
		b.Device(Device{Name: "host" + strconv.Itoa(h), Kind: Host, Group: int32(h / hosts)})
	}
	for l := range leaves * rails * planes {
		rail, at := l/leaves, l%leaves
		leaf := b.Device(Device{Name: name("leaf", rail, rails*planes, at), Kind: Switch, Level: 1, Group: int32(l)})
		for h := range hosts {
			cable(DeviceID(at*hosts+h), rail+1, leaf, h+1, ClassHost)
		}
	}
	for s := range spines * planes {
		plane, at := s/spines, s%spines
		spine := b.Device(Device{Name: name("spine", plane, planes, at), Kind: Switch, Level: 2, Group: -1})
		for l := range leaves * rails {
			cable(DeviceID(leaves*hosts+plane*leaves*rails+l), hosts+at+1, spine, l+1, ClassSwitch)
		}
	}
	return b.Build()
}

// NewFatTree3 builds the three-level fat tree of k-port switches: k pods of
// k/2 leaves and k/2 aggregation switches, (k/2)^2 cores, k^3/4 hosts
// (Al-Fares et al., SIGCOMM 2008). k is even.
func NewFatTree3(fabric string, k int, capacity float64) (*Graph, error) {
	if k < 2 || k%2 != 0 || k > 128 {
		return nil, fmt.Errorf("k=%d: want an even number from 2 to 128", k)
	}
	half := k / 2
	b := NewBuilder(fabric)
	cable := cabler(b, capacity)
	for h := range k * half * half {
		b.Device(Device{Name: "host" + strconv.Itoa(h), Kind: Host, Group: int32(h / (half * half))})
	}
	cores := make([]DeviceID, half*half)
	for c := range cores {
		cores[c] = b.Device(Device{Name: "core" + strconv.Itoa(c), Kind: Switch, Level: 3, Group: -1})
	}
	for pod := range k {
		aggs := make([]DeviceID, half)
		for a := range aggs {
			aggs[a] = b.Device(Device{Name: fmt.Sprintf("agg%d-%d", pod, a), Kind: Switch, Level: 2, Group: int32(pod)})
			for c := range half {
				cable(aggs[a], half+c+1, cores[a*half+c], pod+1, ClassSwitch)
			}
		}
		for l := range half {
			leaf := b.Device(Device{Name: fmt.Sprintf("leaf%d-%d", pod, l), Kind: Switch, Level: 1, Group: int32(pod)})
			for h := range half {
				cable(DeviceID((pod*half+l)*half+h), 1, leaf, h+1, ClassHost)
			}
			for a := range aggs {
				cable(leaf, half+a+1, aggs[a], l+1, ClassSwitch)
			}
		}
	}
	return b.Build()
}

func cabler(b *Builder, capacity float64) func(a DeviceID, aPort int, z DeviceID, zPort int, class LinkClass) {
	return func(a DeviceID, aPort int, z DeviceID, zPort int, class LinkClass) {
		b.Both(Link{From: a, FromPort: strconv.Itoa(aPort), To: z, ToPort: strconv.Itoa(zPort),
			CapacityBytesPerSecond: capacity, Class: class, Dim: -1})
	}
}

func parseDragonfly(fabric, args string) (*Graph, error) {
	kv, err := parseKeyValues(args, "gbps", "groups", "hosts", "routers")
	if err != nil {
		return nil, err
	}
	if err := kv.need("groups", "routers", "hosts"); err != nil {
		return nil, err
	}
	return NewDragonfly(fabric, kv["groups"], kv["routers"], kv["hosts"], float64(kv.or("gbps", 100))*bytesPerGigabit)
}

// NewDragonfly builds a dragonfly (Kim et al., ISCA 2008): groups of fully connected
// routers, hosts on each router, and one cable between every two groups, distributed
// over the routers in palm-tree order (Camarero et al., 2014): cable d of group i leads
// to group i+d+1 and is on router d/h, h = ceil((groups-1)/routers).
func NewDragonfly(fabric string, groups, routers, hosts int, capacity float64) (*Graph, error) {
	if groups < 2 {
		return nil, fmt.Errorf("groups=%d: want at least 2", groups)
	}
	if n := groups * routers; 2*n*hosts+n*(routers-1)+groups*(groups-1) > maxLinks {
		return nil, fmt.Errorf("more than %d links", maxLinks)
	}
	b := NewBuilder(fabric)
	cable := cabler(b, capacity)
	for h := range groups * routers * hosts {
		b.Device(Device{Name: "host" + strconv.Itoa(h), Kind: Host, Group: int32(h / (routers * hosts))})
	}
	router := func(group, r int) DeviceID { return DeviceID(groups*routers*hosts + group*routers + r) }
	for g := range groups {
		for r := range routers {
			id := b.Device(Device{Name: fmt.Sprintf("router%d-%d", g, r), Kind: Switch, Level: 1, Group: int32(g)})
			for h := range hosts {
				cable(DeviceID((g*routers+r)*hosts+h), 1, id, h+1, ClassHost)
			}
			for other := range r {
				cable(router(g, other), hosts+r, id, hosts+other+1, ClassLocal)
			}
		}
	}
	perRouter := (groups - 1 + routers - 1) / routers
	globalPort := func(d int) int { return hosts + routers + d%perRouter }
	for g := range groups {
		for d := range groups - 1 {
			peer := (g + d + 1) % groups
			if back := groups - 2 - d; g < peer {
				cable(router(g, d/perRouter), globalPort(d), router(peer, back/perRouter), globalPort(back), ClassGlobal)
			}
		}
	}
	return b.Build()
}
