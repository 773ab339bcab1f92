package simulated

import (
	"math"
	"slices"

	"github.com/giverny/giverny/search"
)

// anomaly is a row of Table 2. Throughput and pause are from Appendix A if given there.
type anomaly struct {
	number       int
	fires        func(*workload) bool
	share        float64 // of the bound, that remains
	pausePercent float64
	mfs          string // JSON
}

// subsystem is a NIC in a host.
type subsystem struct {
	description search.Description
	anomalies   []anomaly
	pressures   func(*workload) []float64 // by counter, 0 to about 1
	lossy       []float64                 // throughput share that each pressure costs without an anomaly
}

// maxLoss is the largest loss of throughput without an anomaly.
const maxLoss = .15

func (s *subsystem) loss(l *workload) float64 {
	loss := 0.
	for i, p := range s.pressures(l) {
		loss += s.lossy[i] * p
	}
	return min(maxLoss, loss)
}

// rates of one direction at a share of the nearer bound.
func (s *subsystem) rates(l *workload, share float64) search.Direction {
	d := &s.description
	mpps := share * min(d.MessageRateMpps, d.LineRateGbps*1e3/8/l.packet())
	return search.Direction{Gbps: mpps * l.packet() * 8 / 1e3, Mpps: mpps, SizeBytes: l.packet()}
}

func subsystems() map[string]*subsystem {
	return map[string]*subsystem{"F": subsystemF(), "H": subsystemH()}
}

func is(s string, any ...string) bool {
	return slices.Contains(any, s)
}

// Errata: #7 is the anomaly of many memory regions and #8 that of many queue pairs
// (Table 2 is right, Appendix A swaps them); queue pairs of #4 count both directions.
func subsystemF() *subsystem {
	return &subsystem{
		description: search.Description{Name: "F", LineRateGbps: 200, MessageRateMpps: 200, Dimensions: dimensions(), Counters: counters},
		pressures:   pressures,
		lossy:       []float64{0, 0, 0, .12, .08, .1, .03, .05, 0},
		anomalies: []anomaly{
			{1, func(l *workload) bool { return l.transport == "UD_SEND" && l.batch >= 64 && l.depth >= 256 }, .45, 20,
				`{"transport":{"in":["UD_SEND"]},"wqe_batch":{"min":64},"wq_depth":{"min":256}}`},
			{2, func(l *workload) bool {
				return l.transport == "UD_SEND" && l.batch <= 8 && l.depth >= 1024 && l.largest <= kilo && l.qps >= 16
			}, .6, 0, `{"transport":{"in":["UD_SEND"]},"wqe_batch":{"max":8},"wq_depth":{"min":1024},"sizes":{"all":{"max":1024}},"qps":{"min":16}}`},
			{3, func(l *workload) bool { return l.transport == "RC_READ" && l.mtu <= kilo && l.smallest >= 16*kilo }, .45, 10,
				`{"transport":{"in":["RC_READ"]},"mtu":{"max":1024},"sizes":{"all":{"min":16384}}}`},
			{4, func(l *workload) bool {
				return l.direction == "bi" && l.transport == "RC_READ" && l.batch >= 32 && l.sge >= 4 && l.qps >= 160
			}, .7, 6, `{"direction":{"in":["bi"]},"transport":{"in":["RC_READ"]},"wqe_batch":{"min":32},"sge":{"min":4},"qps":{"min":160}}`},
			{5, func(l *workload) bool {
				return l.transport == "RC_SEND" && l.mtu <= kilo && l.batch >= 64 && l.depth >= 1024 && l.smallest >= 2*kilo && l.largest <= 8*kilo
			}, .65, 8, `{"transport":{"in":["RC_SEND"]},"mtu":{"max":1024},"wqe_batch":{"min":64},"wq_depth":{"min":1024},"sizes":{"all":{"min":2048,"max":8192}}}`},
			{6, func(l *workload) bool {
				return l.transport == "RC_SEND" && l.mtu <= kilo && l.batch <= 16 && l.sge >= 2 && l.depth >= 1024 && l.largest <= kilo && l.qps >= 32
			}, .6, 0, `{"transport":{"in":["RC_SEND"]},"mtu":{"max":1024},"wqe_batch":{"max":16},"sge":{"min":2},"wq_depth":{"min":1024},"sizes":{"all":{"max":1024}},"qps":{"min":32}}`},
			{7, func(l *workload) bool {
				return l.transport == "RC_WRITE" && l.batch <= 1 && l.largest <= kilo && l.regions >= 12288
			}, .55, 0, `{"transport":{"in":["RC_WRITE"]},"wqe_batch":{"max":1},"sizes":{"all":{"max":1024}},"memory_regions":{"min":12288}}`},
			{8, func(l *workload) bool {
				return l.transport == "RC_WRITE" && l.batch <= 1 && l.depth <= 16 && l.largest <= kilo && l.qps >= 500
			}, .55, 0, `{"transport":{"in":["RC_WRITE"]},"wqe_batch":{"max":1},"wq_depth":{"max":16},"sizes":{"all":{"max":1024}},"qps":{"min":500}}`},
			{9, func(l *workload) bool { return l.direction == "bi" && l.sge >= 3 && l.mixes() }, .3, 25,
				`{"direction":{"in":["bi"]},"sge":{"min":3},"sizes":{"any":[{"max":1024},{"min":65536}]}}`},
			{10, func(l *workload) bool {
				return l.direction == "bi" && l.transport == "RC_WRITE" && l.batch >= 64 && l.mixes() && l.qps >= 320
			}, .6, 9, `{"direction":{"in":["bi"]},"transport":{"in":["RC_WRITE"]},"wqe_batch":{"min":64},"sizes":{"any":[{"max":1024},{"min":65536}]},"qps":{"min":320}}`},
			{11, func(l *workload) bool { return l.direction == "bi" && l.memoryB == "remote" }, .5, 15.7,
				`{"direction":{"in":["bi"]},"memory_b":{"in":["remote"]}}`},
			{12, func(l *workload) bool { return l.memoryA == "gpu_near" && l.memoryB == "gpu_near" }, .2, 15,
				`{"memory_a":{"in":["gpu_near"]},"memory_b":{"in":["gpu_near"]}}`},
			{13, func(l *workload) bool { return l.direction == "loopback" }, .6, 5, `{"direction":{"in":["loopback"]}}`},
		},
	}
}

// Errata: the 64 of #15 is the depth of the work queue; for #18 the table's batch of 32
// is right; queue pairs of #14 count both directions.
func subsystemH() *subsystem {
	rc := func(l *workload) bool { return is(l.transport, "RC_SEND", "RC_WRITE", "RC_READ") }
	return &subsystem{
		description: search.Description{Name: "H", LineRateGbps: 100, MessageRateMpps: 110, Dimensions: dimensions(), Counters: counters},
		pressures:   pressures,
		lossy:       []float64{.06, 0, 0, .05, .05, .1, .03, .1, 0},
		anomalies: []anomaly{
			{14, func(l *workload) bool {
				return l.direction == "bi" && rc(l) && l.mtu >= 4096 && l.sge >= 4 && l.qps >= 1300
			}, .6, 0, `{"direction":{"in":["bi"]},"transport":{"in":["RC_SEND","RC_WRITE","RC_READ"]},"mtu":{"min":4096},"sge":{"min":4},"qps":{"min":1300}}`},
			{15, func(l *workload) bool { return l.transport == "UD_SEND" && l.depth >= 64 && l.qps >= 32 }, .5, 12,
				`{"transport":{"in":["UD_SEND"]},"wq_depth":{"min":64},"qps":{"min":32}}`},
			{16, func(l *workload) bool {
				return l.transport == "RC_READ" && l.mtu <= kilo && l.batch >= 8 && l.qps >= 500
			}, .7, 6, `{"transport":{"in":["RC_READ"]},"mtu":{"max":1024},"wqe_batch":{"min":8},"qps":{"min":500}}`},
			{17, func(l *workload) bool {
				return l.transport == "RC_SEND" && l.batch <= 16 && l.depth >= 128 && l.largest <= kilo && l.qps >= 64
			}, .65, 7, `{"transport":{"in":["RC_SEND"]},"wqe_batch":{"max":16},"wq_depth":{"min":128},"sizes":{"all":{"max":1024}},"qps":{"min":64}}`},
			{18, func(l *workload) bool {
				return l.direction == "bi" && rc(l) && l.mtu <= kilo && l.batch >= 32 && l.largest <= 64*kilo && l.qps >= 30
			}, .7, 5, `{"direction":{"in":["bi"]},"transport":{"in":["RC_SEND","RC_WRITE","RC_READ"]},"mtu":{"max":1024},"wqe_batch":{"min":32},"sizes":{"all":{"max":65536}},"qps":{"min":32}}`},
		},
	}
}

// counters of both subsystems, in the order of pressures; the last is unrelated to the
// workload.
var counters = []string{"receive_wqe_cache_misses", "qp_context_misses", "translation_misses", "pcie_internal_back_pressure",
	"pcie_ordering_stalls", "rx_packet_processing", "tx_wqe_fetches", "response_processing", "clock_corrections"}

// part is the position of v between lo and hi on a logarithmic scale, 0 to 1.
func part(v, lo, hi float64) float64 {
	return max(0, min(1, math.Log(v/lo)/math.Log(hi/lo)))
}

func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// pressures behind the counters: the work of each part of a NIC for a workload. UD
// keeps no state per connection, UC little; one-sided operations look up remote keys;
// without batches there is a doorbell for every message.
func pressures(l *workload) []float64 {
	short := 1 - part(l.smallest, 64, 64*kilo)
	bi := one(l.direction == "bi")
	receives := one(is(l.transport, "UD_SEND", "UC_SEND", "RC_SEND"))
	reliable := one(is(l.transport, "RC_SEND", "RC_WRITE", "RC_READ"))
	state := .2 + .3*one(is(l.transport, "UC_SEND", "UC_WRITE")) + .8*reliable
	single := 1 - part(l.batch, 1, 128)
	return []float64{
		receives * (.15 + .45*part(l.depth, 16, 4096) + .2*part(l.qps, 1, 20000) + .2*part(l.batch, 1, 128)),
		state * (.1 + .7*part(l.qps, 1, 20000)) * (.4 + .6*short) * (.7 + .5*single) * (1 - .3*part(l.depth, 16, 4096)),
		(.5 + .5*(1-receives)) * (.1 + .7*part(l.regions, 1, 200000)) * (.4 + .6*short) * (.7 + .5*single),
		.1 + .3*one(l.memoryA != "local") + .3*one(l.memoryB != "local") + .2*bi + .5*one(l.direction == "loopback"),
		.05 + (.2+.5*bi)*(.3*part(l.sge, 1, 16)+.7*one(l.largest > 8*l.smallest)*part(l.largest/l.smallest, 1, 1024)),
		.1 + (.3+.5*one(l.transport == "RC_READ")+.1*bi)*(1-part(l.mtu, 512, 8192)) + .2*part(l.largest, 64, 4*mega)*(1-part(l.mtu, 512, 8192)),
		.1 + .3*part(l.sge, 1, 16) + .3*single + .3*short,
		.05 + reliable*(.2+.5*bi)*(.4*part(l.batch, 1, 128)+.3*short+.3*part(l.qps, 1, 20000)),
		.5,
	}
}
