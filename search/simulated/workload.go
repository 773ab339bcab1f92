package simulated

import (
	"math"
	"slices"

	"github.com/giverny/giverny/search"
)

const (
	kilo = 1 << 10
	mega = 1 << 20
)

// workload is a workload as seen by the model.
type workload struct {
	direction, transport, memoryA, memoryB string
	mtu, batch, receiveBatch, sge, depth   float64
	qps, regions                           float64
	smallest, largest, mean                float64 // message, bytes
}

func load(w search.Workload) workload {
	text := func(name string) string { return w.Values(name)[0].String() }
	number := func(name string) float64 { return w.Values(name)[0].Float() }
	l := workload{direction: text("direction"), transport: text("transport"), memoryA: text("memory_a"), memoryB: text("memory_b"),
		mtu: number("mtu"), batch: number("wqe_batch"), receiveBatch: number("receive_batch"), sge: number("sge"),
		depth: number("wq_depth"), qps: number("qps"), regions: number("memory_regions")}
	var sizes []float64
	for _, v := range w.Values("sizes") {
		sizes = append(sizes, v.Float())
		l.mean += v.Float()
	}
	l.smallest, l.largest, l.mean = slices.Min(sizes), slices.Max(sizes), l.mean/float64(len(sizes))
	return l
}

// possible reports whether a UD message fits the MTU and a queue holds a batch.
func (l *workload) possible() bool {
	return (l.transport != "UD_SEND" || l.largest <= l.mtu) && l.depth >= l.batch && l.depth >= l.receiveBatch
}

// setup is the set-up time relative to the longest: queue pairs and memory regions are
// created one by one.
func (l *workload) setup() float64 {
	return min(1, .5*math.Log10(l.qps)/4.3+.5*math.Log10(l.regions)/5.3)
}

func (l *workload) directions() int {
	if l.direction == "bi" {
		return 2
	}
	return 1
}

// mixes reports whether there are both short and long messages.
func (l *workload) mixes() bool { return l.smallest <= kilo && l.largest >= 64*kilo }

// packet is the mean size of packets, bytes.
func (l *workload) packet() float64 { return min(l.mtu, l.mean) }

// dimensions of both subsystems (Collie, section 4).
func dimensions() []search.Dimension {
	return []search.Dimension{
		{Name: "direction", Values: search.Texts("uni", "bi", "loopback")},
		{Name: "transport", Values: search.Texts("UD_SEND", "UC_SEND", "UC_WRITE", "RC_SEND", "RC_WRITE", "RC_READ")},
		{Name: "memory_a", Values: search.Texts("local", "remote", "gpu_near", "gpu_far")},
		{Name: "memory_b", Values: search.Texts("local", "remote", "gpu_near", "gpu_far")},
		{Name: "mtu", Ordered: true, Values: search.Numbers(1024, 2048, 4096)},
		{Name: "wqe_batch", Ordered: true, Values: search.Numbers(1, 2, 4, 8, 16, 32, 64, 128)},
		{Name: "receive_batch", Ordered: true, Values: search.Numbers(1, 2, 4, 8, 16, 32, 64, 128)},
		{Name: "sge", Ordered: true, Values: search.Numbers(1, 2, 3, 4, 8, 16)},
		{Name: "wq_depth", Ordered: true, Values: search.Numbers(16, 32, 64, 128, 256, 512, 1024, 2048, 4096)},
		{Name: "qps", Ordered: true, Values: search.Numbers(1, 2, 4, 8, 16, 32, 64, 160, 320, 500, 1300, 5000, 20000)},
		{Name: "memory_regions", Ordered: true, Values: search.Numbers(1, 8, 64, 512, 4096, 12288, 65536, 200000)},
		{Name: "region_bytes", Ordered: true, Values: search.Numbers(4*kilo, 64*kilo, 256*kilo, mega, 4*mega)},
		{Name: "sizes", Pattern: true, MaxLength: 4, Values: search.Numbers(64, 128, 256, 512, kilo, 2*kilo, 4*kilo, 8*kilo, 16*kilo, 32*kilo, 64*kilo, 256*kilo, mega, 4*mega)},
	}
}
