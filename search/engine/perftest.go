package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/giverny/giverny/internal/perftest"
	"github.com/giverny/giverny/search"
)

// Perftest generates traffic with perftest's bandwidth tests (ib_write_bw, ib_read_bw,
// ib_send_bw) between the two hosts of a pair. Workloads that perftest does not support
// are invalid: several scatter-gather elements, mixed message sizes, and numbers of
// memory regions other than one or one per queue pair.
type Perftest struct {
	*hosts
	described *search.Description
}

// NewPerftest returns the engine for a pair of the rig, counted from 0.
func NewPerftest(rig *Rig, pair int, log *slog.Logger) (*Perftest, error) {
	h, err := newHosts(rig, pair, log)
	if err != nil {
		return nil, err
	}
	return &Perftest{hosts: h}, nil
}

// Close kills what is running on the hosts.
func (p *Perftest) Close() error {
	if p.described != nil {
		p.clean(context.Background())
	}
	return nil
}

const perftestName = "perftest"

// Memory regions of a perftest workload.
const (
	regionShared = "shared"
	regionPerQP  = "per_qp"
)

// calibrationQPs is the number of queue pairs used to calibrate the message rate.
const calibrationQPs = 4

// Describe queries the hosts, and calibrates the message rate for each message size.
func (p *Perftest) Describe(ctx context.Context) (search.Description, error) {
	if p.described != nil {
		return *p.described, nil
	}
	p.clean(ctx)
	d := search.Description{Name: fmt.Sprintf("perftest %s-%s %s", p.a.Address, p.b.Address, p.a.Device)}
	var err error
	if d.LineRateGbps, err = p.discover(ctx); err != nil {
		return d, fmt.Errorf("engine perftest: %w", err)
	}
	if d.Counters, err = p.diagnostic(ctx); err != nil {
		return d, fmt.Errorf("engine perftest: %w", err)
	}
	mtus, err := p.mtus(ctx)
	if err != nil {
		return d, fmt.Errorf("engine perftest: %w", err)
	}
	d.Dimensions = p.dimensions(mtus)
	for _, bytes := range messageSizes {
		if bytes > mtus[len(mtus)-1] {
			break
		}
		rate, err := p.calibrate(ctx, bytes, mtus[len(mtus)-1])
		if err != nil {
			err = fmt.Errorf("calibrate messages of %v bytes: %w", bytes, err)
			if reason := passing(err); reason != "" && ctx.Err() == nil {
				return d, &Fault{perftestName, reason, err}
			}
			return d, fmt.Errorf("engine perftest: %w", err)
		}
		d.PacketRates = append(d.PacketRates, search.PacketRate{SizeBytes: bytes, Mpps: rate})
		d.MessageRateMpps = max(d.MessageRateMpps, rate)
	}
	if p.rig.MessageRateMpps > 0 {
		d.MessageRateMpps = p.rig.MessageRateMpps
	}
	if err := CheckDescription(&d); err != nil {
		return d, fmt.Errorf("engine perftest: %w", err)
	}
	p.described = &d
	return d, nil
}

// messageSizes of the space, in bytes.
var messageSizes = []float64{64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20}

// mtus lists the port's possible MTUs in bytes, ascending, below the interface's MTU.
func (p *Perftest) mtus(ctx context.Context) (list []float64, err error) {
	carries := math.Inf(1)
	if p.a.Interface != "" {
		text, err := p.a.Run(ctx, "cat", "/sys/class/net/"+p.a.Interface+"/mtu")
		if err != nil {
			return nil, err
		}
		if carries, err = strconv.ParseFloat(strings.TrimSpace(string(text)), 64); err != nil {
			return nil, fmt.Errorf("mtu of %s: %w", p.a.Interface, err)
		}
	}
	const headers = 20 + 8 + 12 + 4 + 16 // IP, UDP, BTH, ICRC, RETH
	for _, mtu := range []float64{256, 512, 1024, 2048, 4096} {
		if mtu+headers <= carries {
			list = append(list, mtu)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("interface %s has an MTU of %v bytes: too small for RDMA", p.a.Interface, carries)
	}
	return list[max(0, len(list)-3):], nil
}

// dimensions of the space. Messages have one size, as a pattern of length 1, so that
// findings are comparable with those of other engines.
func (p *Perftest) dimensions(mtus []float64) []search.Dimension {
	var qps []float64
	for n := 1.; n <= float64(p.rig.MaxQPs); n *= 2 {
		qps = append(qps, n)
	}
	dims := []search.Dimension{
		{Name: "direction", Values: search.Texts("uni", "bi")},
		{Name: "transport", Values: search.Texts("UD_SEND", "UC_SEND", "UC_WRITE", "RC_SEND", "RC_WRITE", "RC_READ")},
		{Name: "mtu", Ordered: true, Values: search.Numbers(mtus...)},
		{Name: "wqe_batch", Ordered: true, Values: search.Numbers(1, 2, 4, 8, 16, 32, 64, 128)},
		{Name: "receive_batch", Ordered: true, Values: search.Numbers(1, 2, 4, 8, 16, 32, 64, 128)},
		{Name: "wq_depth", Ordered: true, Values: search.Numbers(16, 32, 64, 128, 256, 512, 1024, 2048, 4096)},
		{Name: "qps", Ordered: true, Values: search.Numbers(qps...)},
		{Name: "memory_regions", Values: search.Texts(regionShared, regionPerQP)},
		{Name: "sizes", Pattern: true, MaxLength: 1, Values: search.Numbers(messageSizes...)},
	}
	if len(p.rig.Memory) > 0 {
		dims = append(dims, search.Dimension{Name: "memory_a", Values: search.Texts(p.rig.Memory...)}, search.Dimension{Name: "memory_b", Values: search.Texts(p.rig.Memory...)})
	}
	return dims
}

// perfTest is a bandwidth test.
type perfTest struct {
	tool          string
	bidirectional bool
	mtu, bytes    float64
	args          []string // for both sides
	memoryA       string
	memoryB       string
}

// plan translates a workload; the error says what perftest does not support.
func (p *Perftest) plan(w search.Workload) (t perfTest, err error) {
	text := func(name, otherwise string) string {
		if v := w.Values(name); len(v) > 0 {
			return v[0].String()
		}
		return otherwise
	}
	number := func(name string, otherwise float64) float64 {
		if v := w.Values(name); len(v) > 0 {
			return v[0].Float()
		}
		return otherwise
	}
	transport := text("transport", "RC_WRITE")
	connection, operation, _ := strings.Cut(transport, "_")
	t = perfTest{bidirectional: text("direction", "uni") == "bi", mtu: number("mtu", 1024), memoryA: text("memory_a", ""), memoryB: text("memory_b", "")}
	t.tool = map[string]string{"WRITE": "ib_write_bw", "READ": "ib_read_bw", "SEND": "ib_send_bw"}[operation]
	sizes := w.Values("sizes")
	batch, receive, depth, qps := number("wqe_batch", 1), number("receive_batch", 1), number("wq_depth", 128), number("qps", 1)
	switch {
	case t.tool == "":
		return t, fmt.Errorf("perftest has no %s", transport)
	case connection != "RC" && connection != "UC" && connection != "UD", connection == "UD" && operation != "SEND", connection == "UC" && operation == "READ":
		return t, fmt.Errorf("perftest has no %s over %s", operation, connection)
	case text("direction", "uni") != "uni" && !t.bidirectional:
		return t, fmt.Errorf("perftest has no direction %s", text("direction", ""))
	case number("sge", 1) > 1:
		return t, errors.New("perftest has one scatter-gather element")
	case len(sizes) == 0 || slices.ContainsFunc(sizes, func(v search.Value) bool { return v.Float() != sizes[0].Float() }):
		return t, errors.New("perftest sends messages of one size")
	case connection == "UD" && sizes[0].Float() > t.mtu:
		return t, errors.New("a UD message fits the MTU")
	case batch > depth || receive > depth:
		return t, errors.New("a queue holds a batch")
	}
	t.bytes = sizes[0].Float()
	t.args = []string{"-F", "--report_gbits", "-D", strconv.Itoa(p.rig.SampleSeconds), "-f", "0", "-c", connection, "-m", format(t.mtu), "-s", format(t.bytes),
		"-q", format(qps), "-t", format(depth), "-l", format(batch), "--port=" + strconv.Itoa(p.port)}
	if operation == "SEND" {
		t.args = append(t.args, "-r", format(depth), "--recv_post_list="+format(receive))
	}
	if t.bidirectional {
		t.args = append(t.args, "-b", "--report-both")
	}
	switch regions := text("memory_regions", regionShared); regions {
	case regionShared, "1":
	case regionPerQP:
		t.args = append(t.args, "--mr_per_qp")
	default:
		return t, fmt.Errorf("perftest has one memory region, or one for each queue pair: not %s", regions)
	}
	for _, memory := range []string{t.memoryA, t.memoryB} {
		if kind, _, ok := memoryOf(memory); memory != "" && (!ok || kind != "node") {
			return t, fmt.Errorf("perftest has no memory %s", memory)
		}
	}
	return t, nil
}

func format(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// side returns the command line of one side.
func (p *Perftest) side(tool string, host *rigHost, memory string, args []string) []string {
	argv := p.limit()
	if _, node, ok := memoryOf(memory); ok {
		n := strconv.Itoa(node)
		argv = append(argv, "numactl", "-N", n, "-m", n)
	}
	argv = append(argv, tool, "-d", host.Device, "-i", strconv.Itoa(host.DevicePort))
	if host.GID > 0 {
		argv = append(argv, "-x", strconv.Itoa(host.GID))
	}
	return append(argv, args...)
}

// Measure samples a workload until the samples agree.
func (p *Perftest) Measure(ctx context.Context, _ int, w search.Workload) (search.Measurement, error) {
	if err := ctx.Err(); err != nil {
		return search.Measurement{}, err
	}
	d, err := p.Describe(ctx)
	if err != nil {
		return search.Measurement{}, err
	}
	t, err := p.plan(w)
	if err != nil {
		p.log.Debug("search: workload refused", "reason", err)
		return search.Measurement{Status: search.Invalid}, nil
	}
	var samples search.Samples
	for range p.rig.Samples {
		var m search.Measurement
		err := perftest.Clocked(func() (err error) {
			m, err = p.sample(ctx, &d, t)
			return err
		})
		if err != nil {
			return p.failed(ctx, perftestName, err)
		}
		if samples.Add(m) {
			break
		}
	}
	p.failures = 0
	return samples.Measurement(), nil
}

// sample runs the test once, and reads the counters before and after.
func (p *Perftest) sample(ctx context.Context, d *search.Description, t perfTest) (search.Measurement, error) {
	begin := time.Now()
	beforeA, beforeB, err := p.counters(ctx)
	if err != nil {
		return search.Measurement{}, err
	}
	directions, err := p.transfer(ctx, t)
	if err != nil {
		return search.Measurement{}, err
	}
	a, b, err := p.counters(ctx)
	if err != nil {
		return search.Measurement{}, err
	}
	m := search.Measurement{Status: search.OK, Directions: directions, Seconds: time.Since(begin).Seconds()}
	p.rig.observed(&m, d, a.since(beforeA), b.since(beforeB))
	return m, CheckMeasurement(d, &m)
}

// transfer runs server and client, and returns the rates of each direction.
func (p *Perftest) transfer(ctx context.Context, t perfTest) ([]search.Direction, error) {
	limit := time.Duration(p.rig.SampleSeconds)*time.Second + p.rig.Timeout
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	args := slices.Concat(t.args, p.rig.PerftestArgs)
	served, asked, err := perftest.Exchange(ctx, perftest.Side{Host: p.b.Host, Argv: p.side(t.tool, &p.b, t.memoryB, args)},
		perftest.Side{Host: p.a.Host, Argv: p.side(t.tool, &p.a, t.memoryA, append(slices.Clone(args), p.b.Address))})
	if err != nil {
		return nil, err
	}
	there, err := sent(asked, &t)
	if err != nil || !t.bidirectional {
		return []search.Direction{there}, err
	}
	back, err := sent(served, &t)
	return []search.Direction{there, back}, err
}

// sent is what one side has sent. For a bidirectional test it is the table of its
// "Local results": in tests of a few seconds perftest 4.5 does not exchange results, so
// the remote ones are random bytes and the sum is meaningless.
func sent(text []byte, t *perfTest) (search.Direction, error) {
	rows, err := perftest.Bandwidths(string(text))
	if err != nil {
		return search.Direction{}, err
	}
	row := rows[0]
	if t.bidirectional {
		if len(rows) < 2 {
			return search.Direction{}, errors.New("no result table of the local direction")
		}
		row = rows[1]
	}
	if row.Bytes != t.bytes {
		return search.Direction{}, fmt.Errorf("result table of messages of %v bytes: asked for %v", row.Bytes, t.bytes)
	}
	return wire(t.bytes, t.mtu, row.Mpps), row.Check()
}

// calibrate measures the packet rate of a plain workload with one packet per message of
// a size: what the hosts can do when nothing is wrong.
func (p *Perftest) calibrate(ctx context.Context, bytes, mtu float64) (mpps float64, err error) {
	t := perfTest{tool: "ib_write_bw", mtu: mtu, bytes: bytes, args: []string{"-F", "--report_gbits", "-D", strconv.Itoa(p.rig.SampleSeconds), "-f", "0", "-c", "RC",
		"-m", format(mtu), "-s", format(bytes), "-q", strconv.Itoa(calibrationQPs), "--port=" + strconv.Itoa(p.port)}}
	err = perftest.Clocked(func() error {
		directions, err := p.transfer(ctx, t)
		if err == nil {
			mpps = directions[0].Mpps
		}
		return err
	})
	if err != nil {
		p.clean(ctx)
	}
	return mpps, err
}
