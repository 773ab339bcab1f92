package packet

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
)

// RateConfig has the parameters of ECN marking and of the senders' reaction, DCQCN (Zhu
// et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, sections
// 3 and 5). CutMicros, KeepTarget and PerTransfer are for the variant in ns-3's RDMA
// model (Li et al., "HPCC", SIGCOMM 2019, its public simulator with CC_MODE 1);
// ns3_test.go has its values.
type RateConfig struct {
	Enabled      bool
	KminBytes    int64   // output queue at which marking begins
	KmaxBytes    int64   // output queue from which every packet is marked
	Pmax         float64 // probability of a mark just below KmaxBytes
	NotifyMicros float64 // N: minimum time between a flow's notifications
	Gain         float64 // g, of the estimate alpha
	AlphaMicros  float64 // K: period of alpha's decay
	CutMicros    float64 // alpha rises and the rate is cut at timer ticks, at most once in each; 0: at each notification
	KeepTarget   bool    // a cut before any increase since the last one leaves the target rate
	PerTransfer  bool    // a transfer is a queue pair and begins at line rate; otherwise all from one NIC to another share a rate
	TimerMicros  float64 // T: period of rate increases
	ByteCounter  int64   // B: bytes between rate increases; 0: timer only
	FastSteps    int     // F: steps of fast recovery
	AdditiveGbps float64 // R_AI
	HyperGbps    float64 // R_HAI
	MinGbps      float64
}

// defaultRateConfig has the values of the paper's figure 14, disabled. The paper leaves
// the hyper increase and the minimum rate to the firmware.
func defaultRateConfig() RateConfig {
	return RateConfig{KminBytes: 5 << 10, KmaxBytes: 200 << 10, Pmax: 0.01, NotifyMicros: 50, Gain: 1.0 / 256,
		AlphaMicros: 55, TimerMicros: 55, ByteCounter: 10 << 20, FastSteps: 5, AdditiveGbps: 0.04, HyperGbps: 0.4, MinGbps: 0.1}
}

func (c RateConfig) validate() error {
	var errs []error
	if c.KmaxBytes < c.KminBytes {
		errs = append(errs, fmt.Errorf("ecn_kmax_bytes=%d: want ecn_kmin_bytes=%d or more", c.KmaxBytes, c.KminBytes))
	}
	if c.Pmax < 0 || c.Pmax > 1 {
		errs = append(errs, fmt.Errorf("ecn_pmax=%v: want 0 to 1", c.Pmax))
	}
	if c.AlphaMicros <= 0 || c.TimerMicros <= 0 || c.MinGbps <= 0 {
		errs = append(errs, errors.New("dcqcn_alpha_us, dcqcn_timer_us and dcqcn_min_gbps must be more than 0"))
	}
	return errors.Join(errs...)
}

// flow is the rate of the traffic from one NIC to another, or of one transfer.
type flow struct {
	rate, target float64 // bytes per ns; 0: never reduced
	alpha        float64
	lastNotified Time // at the receiver
	lastDecay    Time
	timerStart   Time // of the increases since the last cut
	timerSteps   int
	byteSteps    int
	bytes        int64 // since the last byte step
	line         float64
	cutTick      Time // a tick of the cut timer
	cutAt        Time // time of the pending cut, or Never
	gain         bool // alpha rises at its next tick
}

const gbps = 0.125 // bytes per ns

// notified reacts to a congestion notification.
func (f *flow) notified(c *RateConfig, now Time) {
	if f.rate == 0 {
		f.rate, f.target, f.alpha = f.line, f.line, 1
		f.lastDecay, f.timerStart, f.cutTick = now, now, now
	}
	f.grow(c, now)
	if period := Nanos(c.CutMicros * 1000); period > 0 {
		f.gain = true
		if f.cutAt == Never {
			f.cutAt = f.cutTick + ((now-f.cutTick)/period+1)*period
			f.cutTick = f.cutAt
		}
		return
	}
	f.cut(c, now)
	f.alpha = (1-c.Gain)*f.alpha + c.Gain
	f.lastDecay = now
}

// cut reduces the rate (equation 1).
func (f *flow) cut(c *RateConfig, now Time) {
	if !c.KeepTarget || f.timerSteps+f.byteSteps > 0 {
		f.target = f.rate
	}
	f.rate = max(f.rate*(1-f.alpha/2), c.MinGbps*gbps)
	f.timerStart = now
	f.timerSteps, f.byteSteps, f.bytes = 0, 0, 0
}

// grow applies the timers up to now.
func (f *flow) grow(c *RateConfig, now Time) {
	if f.cutAt <= now {
		at := f.cutAt
		f.cutAt = Never
		f.tick(c, at)
		f.cut(c, at)
	}
	f.tick(c, now)
}

// tick applies the timers of alpha (equation 2) and of the rate increases (equations 3
// and 4).
func (f *flow) tick(c *RateConfig, now Time) {
	period := Nanos(c.AlphaMicros * 1000)
	if n := int64((now - f.lastDecay) / period); n > 0 {
		f.alpha *= math.Pow(1-c.Gain, float64(n))
		if f.gain {
			f.alpha, f.gain = f.alpha+c.Gain*math.Pow(1-c.Gain, float64(n-1)), false
		}
		f.lastDecay += Time(n) * period
	}
	period = Nanos(c.TimerMicros * 1000)
	for f.timerStart+period <= now && f.rate < f.line {
		f.timerStart += period
		f.timerSteps++
		f.increase(c)
	}
}

// sent counts bytes, which also increase the rate.
func (f *flow) sent(c *RateConfig, bytes int64) {
	f.bytes += bytes
	if c.ByteCounter > 0 && f.bytes >= c.ByteCounter {
		f.bytes = 0
		f.byteSteps++
		f.increase(c)
	}
}

func (f *flow) increase(c *RateConfig) {
	low, high := min(f.timerSteps, f.byteSteps), max(f.timerSteps, f.byteSteps)
	if c.ByteCounter == 0 {
		low = f.timerSteps - 1 // one additive step, then hyper increase
	}
	switch {
	case high <= c.FastSteps:
	case low > c.FastSteps:
		f.target += c.HyperGbps * gbps
	default:
		f.target += c.AdditiveGbps * gbps
	}
	f.target = min(f.target, f.line)
	f.rate = (f.rate + f.target) / 2
	if f.rate > 0.999*f.line {
		f.rate = f.line
	}
}

// marks decides whether a switch marks a packet that leaves so many bytes behind in its
// output queue, as RED does (figure 4).
func (c *RateConfig) marks(queued int64, random *rand.Rand) bool {
	switch {
	case queued <= c.KminBytes:
		return false
	case queued >= c.KmaxBytes:
		return true
	}
	share := float64(queued-c.KminBytes) / float64(c.KmaxBytes-c.KminBytes)
	return random.Float64() < share*c.Pmax
}

// flows are the rates at which senders may send. Only with RateConfig.Enabled do
// transfers have one.
type flows struct {
	*clock
	cfg    *RateConfig
	paths  *paths
	fabric *fabric
	nic    float64 // bytes per ns that a NIC's DMA sends at most
	all    []flow
	shared map[uint64]int32 // by sender, receiver and class
}

// of returns the flow of a transfer's data, creating it if necessary.
func (f *flows) of(t *transfer) *flow {
	if t.flow == none {
		key := uint64(t.src)<<32 | uint64(t.dst)<<3 | uint64(t.class)
		n, known := f.shared[key]
		if !known || f.cfg.PerTransfer {
			n = int32(len(f.all))
			f.shared[key] = n
			f.all = append(f.all, flow{line: f.line(t), lastNotified: -Second, cutAt: Never})
		}
		t.flow = n
	}
	return &f.all[t.flow]
}

// line is the rate at which a transfer would be sent without congestion control.
func (f *flows) line(t *transfer) float64 {
	if !f.paths.ofData(t) {
		return f.nic
	}
	return min(f.nic, 1e6/float64(f.fabric.channels[f.paths.first(t.path)].pace))
}

// throttle delays a transfer's next packet according to its rate.
func (f *flows) throttle(t *transfer, bytes int64) {
	w := f.of(t)
	if w.rate == 0 {
		return
	}
	w.grow(f.cfg, f.now)
	w.sent(f.cfg, bytes)
	t.eligible = f.now
	if w.rate < w.line {
		t.eligible += Nanos(float64(bytes) / w.rate)
	}
}

// window shrinks a window of bytes in flight with the rate, so that it never limits a
// lone flow.
func (f *flows) window(t *transfer, bytes int64) int64 {
	if w := f.of(t); w.rate > 0 {
		return int64(float64(bytes) * w.rate / w.line)
	}
	return bytes
}

// notified slows down the sender of a transfer's data.
func (f *flows) notified(t *transfer) { f.of(t).notified(f.cfg, f.now) }

// mayNotify reports whether the response to a marked packet may carry a notification: at
// most one per interval and flow does.
func (f *flows) mayNotify(t *transfer) bool {
	w := f.of(t)
	if f.now-w.lastNotified < Nanos(f.cfg.NotifyMicros*1000) {
		return false
	}
	w.lastNotified = f.now
	return true
}
