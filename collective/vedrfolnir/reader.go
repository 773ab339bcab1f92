package vedrfolnir

import (
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/collective/network"
)

// reader collects the parts of a run. Nodes are numbered as in the simulation.
type reader struct {
	open      func(name string) (io.ReadCloser, error)
	nodes     map[int]int // number -> index in fabric
	fabric    network.Fabric
	ports     map[int]int // node number -> ports so far
	transfers []transfer
	flows     []collective.Flow
	reports   []collective.PortReport
	pauses    []collective.Pause
	record    int // telemetry records so far
	leftOut   map[string]int
	notes     []string

	firstLeftOut map[string]int // its first line, by file
	unterminated bool           // the current line has no newline: it may be truncated
	lastLine     string         // of fct.txt, as file:line
	cut          bool           // fct.txt ends in the middle of a line
	hasLinks     bool
	linksLeft    int // links of topology.txt still to be read
}

func newReader() *reader {
	return &reader{nodes: map[int]int{}, ports: map[int]int{}, leftOut: map[string]int{}, firstLeftOut: map[string]int{}}
}

// node returns the index of a node number, adding the node if it is new.
func (r *reader) node(number int) int {
	if i, ok := r.nodes[number]; ok {
		return i
	}
	r.nodes[number] = len(r.fabric.Nodes)
	r.fabric.Nodes = append(r.fabric.Nodes, network.Node{Name: strconv.Itoa(number)})
	return len(r.fabric.Nodes) - 1
}

// numbers parses non-negative integers.
func numbers(fields []string) ([]int64, error) {
	out := make([]int64, len(fields))
	for i, f := range fields {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64/4 {
			return nil, errLine
		}
		out[i] = n
	}
	return out, nil
}

// seconds parses a decimal number of seconds and returns nanoseconds, rounded.
func seconds(text string) (int64, bool) {
	s, err := strconv.ParseFloat(text, 64)
	if err != nil || !(s >= 0 && s < 1e9) {
		return 0, false
	}
	return int64(math.Round(s * 1e9)), true
}

// topologyLine reads "N S L", the switches, and links "a b rate delay error".
func (r *reader) topologyLine(_ string, line int, fields []string) error {
	switch line {
	case 1:
		n, err := numbers(fields)
		if err != nil || len(n) < 3 || n[0] > maxNodes || n[2] > maxRecords {
			return fmt.Errorf("want the number of nodes (at most %d), switches and links", maxNodes)
		}
		for i := range int(n[0]) {
			r.node(i)
		}
		r.linksLeft = int(n[2])
		return nil
	case 2:
		ids, err := numbers(fields)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if id < int64(len(r.fabric.Nodes)) {
				r.fabric.Nodes[id].Switch = true
			}
		}
		return nil
	}
	if r.linksLeft == 0 {
		return nil // lines after the links are comments
	}
	if len(fields) < 4 {
		return errLine
	}
	r.linksLeft--
	ends, err := numbers(fields[:2])
	if err != nil {
		return err
	}
	rate, okRate := bitsPerSecond(fields[2])
	delay, okDelay := delayNanos(fields[3])
	if !okRate || !okDelay || ends[0] == ends[1] || ends[0] >= int64(len(r.fabric.Nodes)) || ends[1] >= int64(len(r.fabric.Nodes)) {
		return errLine
	}
	a, b := int(ends[0]), int(ends[1])
	loss := 0.0
	if len(fields) > 4 {
		if v, err := strconv.ParseFloat(fields[4], 64); err == nil && v > 0 && v <= 1 {
			loss = v
		}
	}
	r.ports[a]++
	r.ports[b]++
	r.fabric.Links = append(r.fabric.Links, network.Link{
		A: a, B: b, APort: r.ports[a], BPort: r.ports[b], BitsPerSecond: rate, DelayNanos: delay, ErrorRate: loss,
	})
	r.hasLinks = true
	return nil
}

// bitsPerSecond parses ns-3's data rates: 25Gbps, 400Mbps, 10Gb/s.
func bitsPerSecond(text string) (int64, bool) {
	for _, u := range []struct {
		suffix string
		factor float64
	}{{"Gbps", 1e9}, {"Gb/s", 1e9}, {"Mbps", 1e6}, {"Mb/s", 1e6}, {"Kbps", 1e3}, {"kbps", 1e3}, {"bps", 1}} {
		if number, ok := strings.CutSuffix(text, u.suffix); ok {
			v, err := strconv.ParseFloat(number, 64)
			return int64(v * u.factor), err == nil && v > 0 && v*u.factor < 1e15
		}
	}
	return 0, false
}

// delayNanos parses ns-3's times: 0.003ms, 5us, 1000ns, 1s.
func delayNanos(text string) (int64, bool) {
	for _, u := range []struct {
		suffix string
		factor float64
	}{{"ms", 1e6}, {"us", 1e3}, {"ns", 1}, {"s", 1e9}} {
		if number, ok := strings.CutSuffix(text, u.suffix); ok {
			v, err := strconv.ParseFloat(number, 64)
			return int64(math.Round(v * u.factor)), err == nil && v >= 0 && v*u.factor < 1e12
		}
	}
	return 0, false
}

// flowLine reads flow.txt: a count, then "src dst pg dport bytes start_s".
func (r *reader) flowLine(_ string, _ int, fields []string) error {
	if len(fields) == 1 {
		_, err := numbers(fields)
		return err
	}
	if len(fields) < 6 {
		return errLine
	}
	n, err := numbers(fields[:5])
	begin, ok := seconds(fields[5])
	if err != nil || !ok || n[0] >= maxNodes || n[1] >= maxNodes || len(r.flows) >= maxRecords {
		return errLine
	}
	r.flows = append(r.flows, collective.Flow{
		Source: r.node(int(n[0])), Destination: r.node(int(n[1])), DestinationPort: int(n[3]), Bytes: n[4], BeginNanos: begin,
	})
	return nil
}

// pauseLine reads pfc.txt: "t node nodetype port type"; type 1 is a pause received.
func (r *reader) pauseLine(_ string, _ int, fields []string) error {
	n, err := numbers(fields)
	if err != nil || len(n) < 5 || n[1] >= maxNodes || n[4] > 1 || len(r.pauses) >= maxRecords {
		return errLine
	}
	r.pauses = append(r.pauses, collective.Pause{TimeNanos: n[0], Node: r.node(int(n[1])), Port: int(n[3]), Resume: n[4] == 0})
	return nil
}

// run assembles the parts. Ranks are numbered in the order of node numbers.
func (r *reader) run(found files) collective.Run {
	r.markCollective()
	run := collective.Run{Telemetry: r.reports, Pauses: r.pauses, Fabric: &r.fabric}
	ranks := r.ranks()
	rankOf := map[int]int32{}
	for i, number := range ranks {
		rankOf[number] = int32(i)
		run.Ranks = append(run.Ranks, collective.Rank{Node: strconv.Itoa(number), Host: r.node(number)})
	}
	members := make([]int, len(ranks))
	for i := range members {
		members[i] = i
	}
	run.Communicators = []collective.Communicator{{Name: "ns-3", Members: members, Steps: r.passes(rankOf)}}
	run.Steps = steps(r.transfers, rankOf)
	run.Flows = r.others()
	for _, absent := range []struct {
		missing bool
		note    string
	}{
		{found.transfers == "", "no fct.txt: finished transfers are unknown"},
		{!r.hasLinks, "no topology: paths and rates are unknown"},
		{len(found.telemetry) == 0, "no switch telemetry: shared ports are unknown"},
		{found.pauses == "", "no pfc.txt: who pauses whom is known from telemetry alone"},
	} {
		if absent.missing {
			run.Notes = append(run.Notes, absent.note)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(r.leftOut)) {
		lines := "lines"
		if r.leftOut[path] == 1 {
			lines = "line"
		}
		run.Notes = append(run.Notes, fmt.Sprintf("%s:%d: %d unreadable %s skipped", filepath.Base(path), r.firstLeftOut[path], r.leftOut[path], lines))
	}
	run.Notes = append(run.Notes, r.notes...)
	run.LastRecord, run.Cut = r.lastLine, r.cut
	return run
}

// printedNanos is how far the begin of a flow in flow.txt may be from that of its
// record: it is printed in seconds with as few as six decimals.
const printedNanos = 100_000

// others returns the background flows: those that finished, and those of flow.txt that
// did not.
func (r *reader) others() []collective.Flow {
	type identity struct {
		source, destination, port int
		bytes                     int64
	}
	of := func(f *collective.Flow) identity {
		return identity{f.Source, f.Destination, f.DestinationPort, f.Bytes}
	}
	finished := map[identity][]int64{} // their begins
	var out []collective.Flow
	for _, t := range r.transfers {
		if t.step != 0 {
			continue
		}
		f := collective.Flow{Source: r.node(t.source), Destination: r.node(t.destination), SourcePort: t.sourcePort,
			DestinationPort: t.destinationPort, Bytes: t.bytes, BeginNanos: t.begin, EndNanos: t.begin + t.duration}
		out = append(out, f)
		finished[of(&f)] = append(finished[of(&f)], f.BeginNanos)
	}
	for _, f := range r.flows {
		begins := finished[of(&f)]
		near := slices.IndexFunc(begins, func(at int64) bool { return max(at-f.BeginNanos, f.BeginNanos-at) <= printedNanos })
		if near < 0 {
			out = append(out, f)
			continue
		}
		finished[of(&f)] = slices.Delete(begins, near, near+1)
	}
	return out
}
