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

	narrow bool             // no 64-bit counters: skip perfquery -x
	wide   bool             // the 64-bit counters include PortXmitWait: skip the plain ones
	silent map[int]*silence // by port; those that did not answer
	empty  int              // consecutive queries without any answer

	downed  map[int]uint64 // LinkDownedCounter by port
	trouble atomic.Bool    // a port has begun to fail, or a link went down in between
}

// silence is the back-off of a port that does not answer.
type silence struct {
	failures, waiting int // consecutive failures; remaining polls
	stops             int // how often the tool stopped at this port
}

// Name is the node's description or GUID.
func (n *node) Name() string { return n.target.name }

// Read queries every port with a cable: the plain counters, unless the 64-bit ones are
// known to include PortXmitWait, and the 64-bit ones if there are any. Each kind makes
// a row with its own time. Ports that do not answer are skipped for a while, and then
// read after the others.
func (n *node) Read(ctx context.Context, r *collectors.Reading) error {
	groups, resting := n.groups(), n.resting()
	var errs []error
	for _, group := range groups {
		answered, err := n.queryGroup(ctx, r, group)
		errs = append(errs, err)
		for _, p := range answered {
			delete(n.silent, p.number)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return resting
}

// resting returns which ports were skipped, or nil, and takes a poll off their pause.
func (n *node) resting() error {
	first, names := (*silence)(nil), []string{}
	for _, p := range n.target.ports {
		if s := n.silent[p.number]; s != nil && s.waiting > 0 {
			s.waiting--
			names = append(names, strconv.Itoa(p.number))
			if first == nil {
				first = s
			}
		}
	}
	if first == nil {
		return nil
	}
	return fmt.Errorf("%w: port %s failed %d times in a row, retrying in %d polls", collectors.ErrBackoff, strings.Join(names, ","), first.failures, first.waiting)
}

// groups are the ports that are read by one query, in the order of reading.
func (n *node) groups() [][]targetPort {
	var answering, silent [][]targetPort
	add := func(to *[][]targetPort, p targetPort) {
		if n.target.isSwitch && len(*to) > 0 {
			(*to)[0] = append((*to)[0], p)
		} else {
			*to = append(*to, []targetPort{p})
		}
	}
	for _, p := range n.target.ports {
		switch s := n.silent[p.number]; {
		case p.down && !n.target.isSwitch:
		case s == nil:
			add(&answering, p)
		case s.waiting == 0:
			add(&silent, p)
		}
	}
	for _, group := range silent {
		slices.SortStableFunc(group, func(a, b targetPort) int { return n.silent[a.number].stops - n.silent[b.number].stops })
	}
	return append(answering, silent...)
}

// queryGroup reads ports by the queries that their node needs, and returns those that answered.
func (n *node) queryGroup(ctx context.Context, r *collectors.Reading, ports []targetPort) (answered []targetPort, err error) {
	var errs []error
	for _, extended := range []bool{false, true} {
		if extended && n.narrow || !extended && n.wide { // narrow is detected by the plain query
			continue
		}
		ports, err = n.queryEach(ctx, r, ports, extended)
		errs = append(errs, err)
	}
	return ports, errors.Join(errs...)
}

// queryEach queries ports and, as the tool stops at one that does not answer, those after
// it. After two queries without any answer the node counts as silent.
func (n *node) queryEach(ctx context.Context, r *collectors.Reading, ports []targetPort, extended bool) (answered []targetPort, err error) {
	var errs []error
	const attempts = 2
	for len(ports) > 0 && ctx.Err() == nil {
		some, err := n.query(ctx, r, ports, extended)
		ports = slices.DeleteFunc(slices.Clone(ports), func(p targetPort) bool { return slices.Contains(some, p) })
		answered = append(answered, some...)
		if n.empty++; len(some) > 0 {
			n.empty = 0
		}
		if err == nil {
			break
		}
		errs = append(errs, err)
		failed := ports[:min(1, len(ports))] // the one at which the tool stopped
		if n.empty >= attempts || errors.Is(err, collectors.ErrMalformed) {
			failed = ports
		}
		if !errors.Is(ctx.Err(), context.Canceled) {
			n.fell(failed)
		}
		ports = ports[len(failed):] // without time for them they are read first in the next poll
	}
	if len(ports) > 0 && len(errs) == 0 && ctx.Err() != nil {
		errs = append(errs, ctx.Err())
	}
	return answered, errors.Join(errs...)
}

// fell counts a failure of ports that did not answer, of which the tool stopped at the first.
func (n *node) fell(ports []targetPort) {
	if n.silent == nil {
		n.silent = map[int]*silence{}
	}
	for i, p := range ports {
		s := n.silent[p.number]
		if s == nil {
			s = &silence{}
			n.silent[p.number] = s
			n.trouble.Store(true)
		}
		if i == 0 {
			s.stops++
		}
		s.failures++
		s.waiting = min(1<<min(s.failures-1, 30)-1, n.cfg.MaxBackoffPolls) // 0, 1, 3, 7, ...
	}
}

// query runs one perfquery and returns the ports that it read, also if it fails.
func (n *node) query(ctx context.Context, r *collectors.Reading, ports []targetPort, extended bool) (answered []targetPort, err error) {
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
		at := slices.IndexFunc(ports, func(p targetPort) bool { return p.number == b.port })
		if at < 0 || b.extended != extended || !b.whole() {
			return answered, errors.Join(runErr, fmt.Errorf("the answer contains port %d, which was not requested or is incomplete: %w", b.port, collectors.ErrMalformed))
		}
		answered = append(answered, ports[at])
		// Its ports were read one after the other between begun and now.
		n.take(r, b, begun.Add(took*time.Duration(i+1)/time.Duration(len(ports)+1)))
	}
	if runErr == nil && parseErr == nil && len(blocks) < len(ports) {
		parseErr = fmt.Errorf("only %d of %d ports were answered: %w", len(blocks), len(ports), collectors.ErrMalformed)
	}
	return answered, errors.Join(runErr, parseErr)
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
