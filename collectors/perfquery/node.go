package perfquery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/giverny/giverny/collectors"
	"github.com/giverny/giverny/schema"
)

// node is one switch or adapter. Only Read uses the fields after target, and no two
// Reads of a node run concurrently.
type node struct {
	cfg    *Config
	target target

	narrow   bool // no 64-bit counters: skip perfquery -x
	wide     bool // the 64-bit counters include PortXmitWait: skip the plain ones
	failures int  // consecutive
	waiting  int  // remaining polls of the back-off

	downed  map[int]uint64 // LinkDownedCounter by port
	trouble atomic.Bool    // it has begun to fail, or a link went down in between
}

// Name is the node's description or GUID.
func (n *node) Name() string { return n.target.name }

// Read queries every port with a cable: the plain counters, unless the 64-bit ones are
// known to include PortXmitWait, and the 64-bit ones if there are any. Each kind makes
// a row with its own time.
func (n *node) Read(ctx context.Context, r *collectors.Reading) error {
	if n.waiting > 0 {
		n.waiting--
		return fmt.Errorf("%w: failed %d times in a row, retrying in %d polls", collectors.ErrBackoff, n.failures, n.waiting)
	}
	err := n.query(ctx, r)
	switch {
	case err == nil:
		n.failures = 0
	case ctx.Err() == nil || errors.Is(ctx.Err(), context.DeadlineExceeded):
		if n.failures == 0 {
			n.trouble.Store(true)
		}
		n.failures++
		n.waiting = min(1<<min(n.failures-1, 30)-1, n.cfg.MaxBackoffPolls) // 0, 1, 3, 7, ...
	}
	return err
}

func (n *node) query(ctx context.Context, r *collectors.Reading) error {
	for group := range n.groups() {
		if !n.wide {
			if err := n.queryGroup(ctx, r, group, false); err != nil {
				return err
			}
		}
		if !n.narrow { // detected by the plain query
			if err := n.queryGroup(ctx, r, group, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// groups are the ports that are read by one query.
func (n *node) groups() func(yield func([]targetPort) bool) {
	if n.target.isSwitch {
		return func(yield func([]targetPort) bool) { yield(n.target.ports) }
	}
	return func(yield func([]targetPort) bool) {
		for i := range n.target.ports {
			if !n.target.ports[i].down && !yield(n.target.ports[i:i+1]) {
				return
			}
		}
	}
}

// queryGroup runs one perfquery. If it fails, the blocks printed before still count.
func (n *node) queryGroup(ctx context.Context, r *collectors.Reading, ports []targetPort, extended bool) error {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.QueryTimeout)
	defer cancel()
	args := []string{"-l", "-G", "0x" + ports[0].guid, portList(ports)}
	if extended {
		args = append([]string{"-x"}, args...)
	}
	begun := time.Now()
	out, runErr := n.cfg.run(ctx, n.cfg.Perfquery, args...)
	took := time.Since(begun)
	blocks, parseErr := parseBlocks(out)
	if runErr != nil {
		parseErr = nil // the output is incomplete anyway
		if k := len(blocks); k > 0 && !blocks[k-1].whole() {
			blocks = blocks[:k-1]
		}
	}
	for i := range blocks {
		b := &blocks[i]
		if !slices.ContainsFunc(ports, func(p targetPort) bool { return p.number == b.port }) || b.extended != extended || !b.whole() {
			return errors.Join(runErr, fmt.Errorf("the answer contains port %d, which was not requested or is incomplete: %w", b.port, collectors.ErrMalformed))
		}
		// Its ports were read one after the other between begun and now.
		at := begun.Add(took * time.Duration(i+1) / time.Duration(len(ports)+1))
		n.take(r, b, at)
	}
	if runErr == nil && parseErr == nil && len(blocks) < len(ports) {
		parseErr = fmt.Errorf("only %d of %d ports were answered: %w", len(blocks), len(ports), collectors.ErrMalformed)
	}
	return errors.Join(runErr, parseErr)
}

func (n *node) take(r *collectors.Reading, b *block, at time.Time) {
	set := "PortCounters"
	if b.extended {
		set = "PortCountersExtended"
		n.wide = b.hasWideWait()
	} else {
		n.narrow = !b.hasExtended()
	}
	r.RowAt(set, schema.PortName{Device: n.target.name, Port: strconv.Itoa(b.port)}, at.UnixNano())
	b.put(r)
	if at := slices.IndexFunc(n.target.ports, func(p targetPort) bool { return p.number == b.port }); at >= 0 && n.target.ports[at].down {
		r.Put(stateColumn, stateDown)
	} else {
		r.Put(physicalStateColumn, physicalLinkUp)
	}
	n.watchDowned(b)
}

// Port state derived from the discovery: a listed port has a link, whatever its logical
// state; a port that is no longer listed is down (PortInfo, IBA vol. 1, 14.2.5.6). It
// is valid until the next discovery.
const (
	stateColumn         = "ib.port_state"
	stateDown           = 1
	physicalStateColumn = "ib.port_phys_state"
	physicalLinkUp      = 5
)

// watchDowned detects ports that lost their link since the last poll.
func (n *node) watchDowned(b *block) {
	for _, c := range b.counters {
		if c.name != "LinkDownedCounter" {
			continue
		}
		if n.downed == nil {
			n.downed = map[int]uint64{}
		}
		if before, read := n.downed[b.port]; read && c.value > before {
			n.trouble.Store(true)
		}
		n.downed[b.port] = c.value
	}
}

func portList(ports []targetPort) string {
	numbers := make([]string, len(ports))
	for i, p := range ports {
		numbers[i] = strconv.Itoa(p.number)
	}
	return strings.Join(numbers, ",")
}
