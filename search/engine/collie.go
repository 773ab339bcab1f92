package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/giverny/giverny/internal/retry"
	"github.com/giverny/giverny/search"
)

// Collie generates traffic with the Collie authors' traffic engine (collie_engine)
// between the two hosts of a pair. The engine reports no rates; they are read from the
// ports' counters.
type Collie struct {
	*hosts
	described *search.Description
}

// NewCollie returns the engine for a pair of the rig, counted from 0. The rig must
// specify the message rate, since it cannot be calibrated.
func NewCollie(rig *Rig, pair int, log *slog.Logger) (*Collie, error) {
	h, err := newHosts(rig, pair, log)
	if err != nil {
		return nil, err
	}
	if rig.MessageRateMpps <= 0 {
		return nil, errors.New("message_rate_mpps: collie-engine needs the packet rate that the adapter can carry")
	}
	return &Collie{hosts: h}, nil
}

// Close kills what is running on the hosts.
func (c *Collie) Close() error {
	if c.described != nil {
		c.clean(context.Background())
	}
	return nil
}

const collieName = "collie-engine"

// Describe queries the hosts.
func (c *Collie) Describe(ctx context.Context) (search.Description, error) {
	if c.described != nil {
		return *c.described, nil
	}
	c.clean(ctx)
	d := search.Description{Name: fmt.Sprintf("collie-engine %s-%s %s", c.a.Address, c.b.Address, c.a.Device), MessageRateMpps: c.rig.MessageRateMpps}
	var err error
	if d.LineRateGbps, err = c.discover(ctx); err == nil {
		d.Counters, err = c.diagnostic(ctx)
	}
	if err != nil {
		return d, fmt.Errorf("engine collie-engine: %w", err)
	}
	d.Dimensions = c.dimensions()
	if err := CheckDescription(&d); err != nil {
		return d, fmt.Errorf("engine collie-engine: %w", err)
	}
	c.described = &d
	return d, nil
}

// dimensions are those of the paper's section 4.
func (c *Collie) dimensions() []search.Dimension {
	var qps []float64
	for _, n := range []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 5000, 10000, 20000} {
		if n <= float64(c.rig.MaxQPs) {
			qps = append(qps, n)
		}
	}
	dims := []search.Dimension{
		{Name: "direction", Values: search.Texts("uni", "bi", "loopback")},
		{Name: "transport", Values: search.Texts("UD_SEND", "UC_SEND", "UC_WRITE", "RC_SEND", "RC_WRITE", "RC_READ")},
		{Name: "mtu", Ordered: true, Values: search.Numbers(1024, 2048, 4096)},
		{Name: "wqe_batch", Ordered: true, Values: search.Numbers(1, 2, 4, 8, 16, 32, 64, 128)},
		{Name: "receive_batch", Ordered: true, Values: search.Numbers(1, 2, 4, 8, 16, 32, 64, 128)},
		{Name: "sge", Ordered: true, Values: search.Numbers(1, 2, 3, 4, 8)},
		{Name: "wq_depth", Ordered: true, Values: search.Numbers(16, 32, 64, 128, 256, 512, 1024, 2048, 4096)},
		{Name: "qps", Ordered: true, Values: search.Numbers(qps...)},
		{Name: "memory_regions", Ordered: true, Values: search.Numbers(1, 8, 64, 512, 4096, 12288, 65536, 200000)},
		{Name: "region_bytes", Ordered: true, Values: search.Numbers(4<<10, 64<<10, 256<<10, 1<<20, 4<<20)},
		{Name: "sizes", Pattern: true, MaxLength: 4, Values: search.Numbers(64, 128, 256, 512, 1<<10, 2<<10, 4<<10, 8<<10, 16<<10, 32<<10, 64<<10, 256<<10, 1<<20, 4<<20)},
	}
	if len(c.rig.Memory) > 0 {
		dims = append(dims, search.Dimension{Name: "memory_a", Values: search.Texts(c.rig.Memory...)}, search.Dimension{Name: "memory_b", Values: search.Texts(c.rig.Memory...)})
	}
	return dims
}

// collieTest is a workload as options of collie_engine.
type collieTest struct {
	direction        string
	read             bool     // the server's host is the sender
	args             []string // for both sides
	memoryA, memoryB string
}

// Numbers by which collie_engine names verbs types (ibv_qp_type, ibv_mtu).
var (
	qpTypes  = map[string]string{"RC": "2", "UC": "3", "UD": "4"}
	mtuTypes = map[float64]string{256: "1", 512: "2", 1024: "3", 2048: "4", 4096: "5"}
)

// plan translates a workload; the error says why it is infeasible.
func (c *Collie) plan(w search.Workload) (t collieTest, err error) {
	text := func(name string) string { return w.Values(name)[0].String() }
	number := func(name string) float64 { return w.Values(name)[0].Float() }
	connection, operation, _ := strings.Cut(text("transport"), "_")
	t = collieTest{direction: text("direction"), read: operation == "READ"}
	if len(w.Values("memory_a")) > 0 {
		t.memoryA, t.memoryB = text("memory_a"), text("memory_b")
	}
	depth, sge := number("wq_depth"), number("sge")
	if number("wqe_batch") > depth || number("receive_batch") > depth {
		return t, errors.New("a queue holds a batch")
	}
	var requests, receives []string
	for _, v := range w.Values("sizes") {
		bytes := v.Float()
		switch {
		case connection == "UD" && bytes > number("mtu"):
			return t, errors.New("a UD message fits the MTU")
		case math.Ceil(bytes/sge) > number("region_bytes"):
			return t, errors.New("a scatter-gather element lies in one region")
		}
		elements := split(int(bytes), int(sge))
		requests = append(requests, strings.ToLower(operation[:1])+"_"+elements)
		receives = append(receives, elements)
	}
	t.args = []string{"--mr_num=" + text("memory_regions"), "--buf_num=1", "--buf_size=" + text("region_bytes"),
		"--send_batch=" + text("wqe_batch"), "--recv_batch=" + text("receive_batch"), "--send_wq_depth=" + text("wq_depth"), "--recv_wq_depth=" + text("wq_depth"),
		"--qp_num=" + text("qps"), "--mtu=" + mtuTypes[number("mtu")], "--qp_type=" + qpTypes[connection],
		"--request=" + strings.Join(requests, ","), "--receive=" + strings.Join(receives, ","), "--share_mr"}
	if c.rig.TrafficClass > 0 {
		t.args = append(t.args, "--tos="+strconv.Itoa(c.rig.TrafficClass))
	}
	return t, nil
}

// split formats a message's scatter-gather elements: "3_22_21_21" for 64 bytes in 3.
func split(bytes, elements int) string {
	parts := []string{strconv.Itoa(elements)}
	for i := range elements {
		n := bytes / elements
		if i < bytes%elements {
			n++
		}
		parts = append(parts, strconv.Itoa(n))
	}
	return strings.Join(parts, "_")
}

// side returns the command of one side; peer is empty for the server.
func (c *Collie) side(host *rigHost, memory string, t *collieTest, port int, peer string) []string {
	argv := c.limit()
	kind, number, ok := memoryOf(memory)
	if ok && kind == "node" {
		argv = append(argv, "numactl", "-N", strconv.Itoa(number), "-m", strconv.Itoa(number))
	}
	argv = append(argv, c.rig.CollieEngine, "--dev="+host.Device)
	if host.GID > 0 {
		argv = append(argv, "--gid="+strconv.Itoa(host.GID))
	}
	if ok && kind == "gpu" {
		argv = append(argv, "--use_cuda=true", "--gpu_id="+strconv.Itoa(number))
	}
	argv = append(append(argv, t.args...), "--port="+strconv.Itoa(port))
	if peer == "" {
		return append(argv, "--server")
	}
	return append(argv, "--connect="+peer, "--run_infinitely")
}

// flow is one server with its client.
type flow struct {
	server, client             *rigHost
	serverMemory, clientMemory string
	port                       int
}

// flows of a workload: bidirectional and loopback traffic need a second one.
func (c *Collie) flows(t *collieTest) []flow {
	list := []flow{{&c.b, &c.a, t.memoryB, t.memoryA, c.port}}
	switch t.direction {
	case "bi":
		list = append(list, flow{&c.a, &c.b, t.memoryA, t.memoryB, c.port + 1})
	case "loopback":
		list = append(list, flow{&c.b, &c.b, t.memoryB, t.memoryB, c.port + 1})
	}
	return list
}

// Measure samples a workload until the samples agree.
func (c *Collie) Measure(ctx context.Context, _ int, w search.Workload) (search.Measurement, error) {
	if err := ctx.Err(); err != nil {
		return search.Measurement{}, err
	}
	d, err := c.Describe(ctx)
	if err != nil {
		return search.Measurement{}, err
	}
	t, err := c.plan(w)
	if err != nil {
		c.log.Debug("search: workload refused", "reason", err)
		return search.Measurement{Status: search.Invalid}, nil
	}
	m, err := c.measure(ctx, &d, &t)
	if err != nil {
		return c.failed(ctx, collieName, err)
	}
	c.failures = 0
	return m, nil
}

// Pauses between the steps of a measurement.
const (
	listenDelay = time.Second // until the servers listen
	settleDelay = time.Second // until the clients' traffic is steady
)

// errEnough stops the traffic after the measurement.
var errEnough = errors.New("measured")

// measure starts the traffic, samples it and stops it.
func (c *Collie) measure(ctx context.Context, d *search.Description, t *collieTest) (m search.Measurement, err error) {
	defer c.clean(ctx)
	ctx, cancel := context.WithTimeout(ctx, time.Duration(c.rig.SampleSeconds*c.rig.Samples)*time.Second+c.rig.Timeout)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	runs := func(host *rigHost, argv []string) {
		group.Go(func() error {
			if _, err := host.Run(ctx, argv...); err != nil {
				return err
			}
			return errors.New("collie_engine ended before the measurement")
		})
	}
	flows := c.flows(t)
	for _, f := range flows {
		runs(f.server, c.side(f.server, f.serverMemory, t, f.port, ""))
	}
	if retry.Sleep(ctx, listenDelay) {
		for _, f := range flows {
			runs(f.client, c.side(f.client, f.clientMemory, t, f.port, f.server.Address))
		}
	}
	group.Go(func() (err error) {
		if m, err = c.samples(ctx, d, t); err == nil {
			err = errEnough
		}
		return err
	})
	if err = group.Wait(); errors.Is(err, errEnough) {
		err = nil
	}
	return m, err
}

func (c *Collie) samples(ctx context.Context, d *search.Description, t *collieTest) (search.Measurement, error) {
	if !retry.Sleep(ctx, settleDelay) {
		return search.Measurement{}, ctx.Err()
	}
	var samples search.Samples
	for range c.rig.Samples {
		m, err := c.sample(ctx, d, t)
		if err != nil {
			return m, err
		}
		if samples.Add(m) {
			break
		}
	}
	return samples.Measurement(), nil
}

// sample reads the counters of both hosts twice.
func (c *Collie) sample(ctx context.Context, d *search.Description, t *collieTest) (search.Measurement, error) {
	begin := time.Now()
	beforeA, beforeB, err := c.counters(ctx)
	if err != nil {
		return search.Measurement{}, err
	}
	middle := time.Now()
	if !retry.Sleep(ctx, time.Duration(c.rig.SampleSeconds)*time.Second) {
		return search.Measurement{}, ctx.Err()
	}
	a, b, err := c.counters(ctx)
	if err != nil {
		return search.Measurement{}, err
	}
	// The counters are read one host after the other: the time between two readings is
	// that between their midpoints.
	seconds := (time.Since(begin) + time.Since(middle)).Seconds() / 2
	a, b = a.since(beforeA), b.since(beforeB)
	m := search.Measurement{Status: search.OK, Seconds: time.Since(begin).Seconds()}
	receivers := []counters{b}
	switch {
	case t.direction == "bi":
		receivers = []counters{b, a}
	case t.read:
		receivers = []counters{a}
	}
	for _, r := range receivers {
		m.Directions = append(m.Directions, r.received(seconds))
	}
	c.rig.observed(&m, d, a, b)
	return m, CheckMeasurement(d, &m)
}

// received is what a port received. PortRcvData counts words of four bytes (IBA vol. 1,
// PortCounters).
func (c counters) received(seconds float64) search.Direction {
	bytes, packets := 4*float64(c["counters/port_rcv_data"]), float64(c["counters/port_rcv_packets"])
	return search.Direction{Gbps: bytes * 8 / 1e9 / seconds, Mpps: packets / 1e6 / seconds, SizeBytes: bytes / max(1, packets)}
}
