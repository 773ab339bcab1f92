package perfquery

import (
	"bytes"
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/giverny/giverny/collectors"
)

// block is what perfquery(8) prints for one port.
type block struct {
	port     int
	extended bool   // PortCountersExtended, from perfquery -x
	capMask  uint64 // capability mask of the node's performance management
	capMask2 uint64
	counters []counter
}

// counter is one line of a block, with its IBA name.
type counter struct {
	name  string
	value uint64
}

// Bits of the capability masks (IBA vol. 1, 16.1.3.2, ClassPortInfo of performance
// management). Tools print 0 for unsupported counters, so only these bits tell
// unsupported counters from zero ones.
const (
	capExtended          = 1 << 9  // PortCountersExtended
	capExtendedNoUnicast = 1 << 10 // the same without unicast and multicast
	capXmitWait          = 1 << 12 // PortXmitWait of PortCounters
	cap2Additional       = 1 << 1  // the error counters and PortXmitWait of PortCountersExtended
)

const (
	extendedHeader = "# Port extended counters: "
	plainHeader    = "# Port counters: "
)

// parseBlocks parses the output of perfquery, with or without -x:
//
//	# Port extended counters: Lid 2 port 1 (CapMask: 0x1300 CapMask2: 0x0000000)
//	PortSelect:......................1
//	PortXmitData:....................1296
//
// On error it also returns the complete blocks before it.
func parseBlocks(text []byte) ([]block, error) {
	var blocks []block
	number := 0
	for raw := range bytes.Lines(text) {
		number++
		line := strings.TrimRight(string(raw), " \t\r\n")
		if line == "" {
			continue
		}
		var err error
		if line[0] == '#' {
			var b block
			if b, err = parseBlockHeader(line); err == nil {
				blocks = append(blocks, b)
			}
		} else if len(blocks) == 0 {
			err = fmt.Errorf("%q has no header before it", line)
		} else {
			err = blocks[len(blocks)-1].parseCounter(line)
		}
		if err != nil {
			return blocks[:max(0, len(blocks)-1)], fmt.Errorf("line %d: %w: %w", number, err, collectors.ErrMalformed)
		}
	}
	return blocks, nil
}

func parseBlockHeader(line string) (b block, err error) {
	rest, extended := strings.CutPrefix(line, extendedHeader)
	if !extended {
		var plain bool
		if rest, plain = strings.CutPrefix(line, plainHeader); !plain {
			return b, fmt.Errorf("header %q: want %q or %q", line, extendedHeader, plainHeader)
		}
	}
	_, rest, ok := strings.Cut(rest, " port ")
	port, masks, ok2 := strings.Cut(rest, " (CapMask: 0x")
	mask, mask2, ok3 := strings.Cut(strings.TrimSuffix(masks, ")"), " CapMask2: 0x")
	if !ok || !ok2 || !strings.HasSuffix(masks, ")") {
		return b, fmt.Errorf("header %q: want ... port NUMBER (CapMask: 0x...)", line)
	}
	n, err := strconv.ParseUint(port, 10, 8)
	b = block{port: int(n), extended: extended}
	var err1, err2 error
	b.capMask, err1 = strconv.ParseUint(mask, 16, 64)
	if ok3 { // old tools do not print it
		b.capMask2, err2 = strconv.ParseUint(mask2, 16, 64)
	}
	return b, cmp.Or(err, err1, err2)
}

func (b *block) parseCounter(line string) error {
	name, rest, ok := strings.Cut(line, ":")
	text := strings.TrimLeft(rest, ".")
	if !ok || name == "" || text == rest {
		return fmt.Errorf("%q: want NAME:....NUMBER", line)
	}
	value, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		return fmt.Errorf("%q: %q is not a number", line, text)
	}
	for i := range b.counters {
		if b.counters[i].name == name {
			return fmt.Errorf("%q: %s is duplicated", line, name)
		}
	}
	b.counters = append(b.counters, counter{name, value})
	return nil
}

// whole reports whether the block is complete: a killed tool leaves a partial one.
func (b *block) whole() bool {
	last := "PortXmitWait"
	if b.extended {
		last = "PortRcvPkts"
	}
	for i := range b.counters {
		if b.counters[i].name == last {
			return true
		}
	}
	return false
}

// hasExtended reports whether the node has 64-bit counters at all.
func (b *block) hasExtended() bool { return b.capMask&(capExtended|capExtendedNoUnicast) != 0 }

// hasWideWait reports whether the extended counters include a 64-bit PortXmitWait and
// the error counters, so that the plain ones are not needed.
func (b *block) hasWideWait() bool { return b.extended && b.capMask2&cap2Additional != 0 }

// put adds the supported counters to the current row; 32-bit data counters only if
// there are no 64-bit ones.
func (b *block) put(r *collectors.Reading) {
	additional := false
	for _, c := range b.counters {
		switch c.name {
		case "CounterSelect2":
			additional = b.extended
			continue
		case "PortSelect", "CounterSelect":
			continue
		case "PortXmitWait":
			if !b.extended && b.capMask&capXmitWait == 0 {
				continue
			}
		case "PortUnicastXmitPkts", "PortUnicastRcvPkts", "PortMulticastXmitPkts", "PortMulticastRcvPkts":
			if b.capMask&capExtended == 0 {
				continue
			}
		case "PortXmitData", "PortRcvData", "PortXmitPkts", "PortRcvPkts":
			if !b.extended && b.hasExtended() {
				continue
			}
		}
		if additional && !b.hasWideWait() {
			continue
		}
		r.Put(canonical(c.name, b.extended), c.value)
	}
}

// canonicalNames are the schema's names of the counters; those in narrowNames are
// narrower in a plain block and have another name there.
var canonicalNames = map[string]string{
	"PortXmitData": "ib.port_xmit_data", "PortRcvData": "ib.port_rcv_data",
	"PortXmitPkts": "ib.port_xmit_packets", "PortRcvPkts": "ib.port_rcv_packets", "PortXmitWait": "ib.port_xmit_wait",
	"PortUnicastXmitPkts": "ib.unicast_xmit_packets", "PortUnicastRcvPkts": "ib.unicast_rcv_packets",
	"PortMulticastXmitPkts": "ib.multicast_xmit_packets", "PortMulticastRcvPkts": "ib.multicast_rcv_packets",
	"SymbolErrorCounter": "ib.symbol_error", "LinkErrorRecoveryCounter": "ib.link_error_recovery", "LinkDownedCounter": "ib.link_downed",
	"PortRcvErrors": "ib.port_rcv_errors", "PortRcvRemotePhysicalErrors": "ib.port_rcv_remote_physical_errors",
	"PortRcvSwitchRelayErrors": "ib.port_rcv_switch_relay_errors", "PortXmitDiscards": "ib.port_xmit_discards",
	"PortXmitConstraintErrors": "ib.port_xmit_constraint_errors", "PortRcvConstraintErrors": "ib.port_rcv_constraint_errors",
	"LocalLinkIntegrityErrors": "ib.local_link_integrity_errors", "ExcessiveBufferOverrunErrors": "ib.excessive_buffer_overrun_errors",
	"VL15Dropped": "ib.VL15_dropped", "QP1Dropped": "ib.qp1_dropped",
}

var narrowNames = map[string]string{
	"PortXmitData": "ib.port_xmit_data_32", "PortRcvData": "ib.port_rcv_data_32",
	"PortXmitPkts": "ib.port_xmit_packets_32", "PortRcvPkts": "ib.port_rcv_packets_32", "PortXmitWait": "ib.port_xmit_wait_32",
}

// canonical returns the schema's name; an unknown counter keeps its own.
func canonical(name string, extended bool) string {
	if narrow := narrowNames[name]; narrow != "" && !extended {
		return narrow
	}
	if known := canonicalNames[name]; known != "" {
		return known
	}
	return "ib." + name
}
