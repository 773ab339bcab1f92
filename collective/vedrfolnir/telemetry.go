package vedrfolnir

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/giverny/giverny/collective"
)

// epochNanos is the length of the simulation's telemetry epochs.
const epochNanos = 1_000_000

// telemetryState is the state of reading a telemetry file.
type telemetryState struct {
	r            *reader
	device       int // index of the switch
	time         int64
	signal, last bool
	in, out      int // ports of the last meter
	meter        int64
	expect       expectation
	current      int // index in reports of the current port; -1: none
}

// expectation is what the next line must be.
type expectation int

const (
	anything expectation = iota
	meterBytes
	portNumbers
	flowRows
)

// telemetryFile reads telemetry_N.txt of switch N: records "time", "polling" or
// "signal", each with ports in the current and the last epoch.
func (r *reader) telemetryFile(path string) error {
	name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "telemetry_"), ".txt")
	number, err := strconv.Atoi(name)
	if err != nil || number < 0 || number >= maxNodes {
		r.leftOut[path]++
		return nil
	}
	s := &telemetryState{r: r, device: r.node(number), current: -1}
	r.fabric.Nodes[s.device].Switch = true // hosts write none
	return r.lines(path, s.line)
}

func (s *telemetryState) line(_ string, _ int, f []string) error {
	switch {
	case f[0] == "time" && len(f) == 2:
		n, err := numbers(f[1:])
		if err != nil {
			return err
		}
		s.r.record++
		*s = telemetryState{r: s.r, device: s.device, time: n[0], current: -1}
	case f[0] == "polling", f[0] == "signal":
		s.signal = f[0] == "signal"
	case f[0] == "epoch" && len(f) == 2:
		s.last = f[1] == "last"
		s.expect, s.current = anything, -1
	case f[0] == "traffic" && len(f) >= 8:
		return s.meterPorts(f)
	case f[0] == "port" && len(f) > 1 && f[1] == "telemetry":
		return s.port(f)
	case f[0] == "end":
		s.expect, s.current, s.time = anything, -1, 0
	case isHeading(f[0]):
	default:
		return s.values(f)
	}
	return nil
}

func isHeading(word string) bool {
	switch word {
	case "portToPortBytes", "enqQdepth", "flow", "flowIdx":
		return true
	}
	return false
}

// meterPorts reads "traffic meter form port A to port B".
func (s *telemetryState) meterPorts(f []string) error {
	n, err := numbers([]string{f[4], f[7]})
	if err != nil {
		return err
	}
	s.in, s.out, s.expect = int(n[0]), int(n[1]), meterBytes
	return nil
}

// port reads "port telemetry data for port P".
func (s *telemetryState) port(f []string) error {
	n, err := numbers(f[len(f)-1:])
	if err != nil || len(s.r.reports) >= maxRecords || s.time == 0 {
		s.current = -1
		return errLine
	}
	p := collective.PortReport{
		Record: s.r.record, TimeNanos: s.time, Switch: s.device, Port: int(n[0]), Signal: s.signal,
		EpochNanos: s.time / epochNanos * epochNanos, LastNanos: s.time,
	}
	if s.last {
		p.LastNanos = p.EpochNanos
		p.EpochNanos -= epochNanos
	}
	if s.signal && s.in > 0 && s.out == p.Port {
		p.In, p.MeterBytes = s.in, s.meter
	}
	s.r.reports = append(s.r.reports, p)
	s.current, s.expect = len(s.r.reports)-1, portNumbers
	return nil
}

// values reads a line of numbers, whose meaning depends on the lines before.
func (s *telemetryState) values(f []string) error {
	if s.expect == meterBytes {
		n, err := numbers(f[:1])
		if err != nil {
			return err
		}
		s.meter, s.expect = n[0], anything
		return nil
	}
	if s.current < 0 || s.expect == anything {
		return errLine
	}
	p := &s.r.reports[s.current]
	if s.expect == portNumbers {
		n, err := numbers(f)
		if err != nil || len(n) < 3 {
			return errLine
		}
		p.QueueSum, p.Paused, p.Packets = n[0], n[1], n[2]
		s.expect = flowRows
		return nil
	}
	flow, err := s.flow(f)
	if err != nil {
		return err
	}
	p.Flows = append(p.Flows, flow)
	return nil
}

// flow reads a row "flowIdx srcIp dstIp srcPort dstPort protocol minSeq maxSeq
// packetNum enqQdepth pfcPausedPacketNum"; addresses are hexadecimal.
func (s *telemetryState) flow(f []string) (collective.FlowReport, error) {
	if len(f) < 11 {
		return collective.FlowReport{}, errLine
	}
	source, okSource := address(f[1])
	destination, okDestination := address(f[2])
	n, err := numbers(append([]string{f[3], f[4]}, f[6:11]...))
	if err != nil || !okSource || !okDestination {
		return collective.FlowReport{}, errLine
	}
	return collective.FlowReport{
		Source: s.r.node(source), Destination: s.r.node(destination), SourcePort: int(n[0]), DestinationPort: int(n[1]),
		MinSeq: n[2], MaxSeq: n[3], Packets: n[4], QueueSum: n[5], Paused: n[6],
	}, nil
}

// address extracts the node number from an address of the simulation: 0x0b000001 +
// (id/256)<<16 + (id%256)<<8.
func address(text string) (int, bool) {
	ip, err := strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 32)
	return int(ip>>8) & 0xffff, err == nil
}
