package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/giverny/giverny/ingest/kafka"
)

// ownerFreshFor is how long an answer of the group is used, since pages poll; ownerTimeout bounds the wait for it, since a
// page waits too.
const (
	ownerFreshFor = 5 * time.Second
	ownerTimeout  = 2 * time.Second
)

// ownerQuery says which process should analyse a fabric, and why none does.
type ownerQuery struct {
	group    string
	describe func(context.Context) (kafka.GroupState, error)

	mu    sync.Mutex
	asked time.Time
	state kafka.GroupState // guarded by mu
	err   error            // guarded by mu
}

// askOwners returns the query of this process; nil if its configuration names no group: fabrics of an embedded broker, or not
// shared, have no other owner than the process that is configured to analyse them.
func (p *Process) askOwners() *ownerQuery {
	cfg := &p.cfg.Kafka
	if cfg.Embedded || !cfg.Client.Consumer.Share || len(cfg.Client.Brokers) == 0 {
		return nil
	}
	if p.client == nil { // serve needs Kafka for nothing else
		if err := p.makeClient(cfg.Client, nil); err != nil {
			p.log.Warn("app: owners of fabrics not known, Kafka's settings cannot be used", "error", err)
			return nil
		}
	}
	return &ownerQuery{group: cfg.Client.Consumer.Group, describe: p.newCoordinator().Describe}
}

// explain returns a sentence about the owner of a fabric. away: Kafka does not answer, so there is none.
func (q *ownerQuery) explain(ctx context.Context, fabric string, partition int) (text string, away bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if time.Since(q.asked) > ownerFreshFor {
		asking, cancel := context.WithTimeout(ctx, ownerTimeout)
		q.state, q.err = q.describe(asking)
		cancel()
		q.asked = time.Now()
	}
	if q.err != nil {
		if errors.Is(q.err, context.DeadlineExceeded) {
			return fmt.Sprintf("which process owns it is unknown: Kafka did not describe the consumer group %s within %v", q.group, ownerTimeout), true
		}
		return fmt.Sprintf("which process owns it is unknown: %v", q.err), errors.As(q.err, new(*net.OpError))
	}
	return ownerText(&q.state, q.group, fabric, partition), false
}

func ownerText(state *kafka.GroupState, group, fabric string, partition int) string {
	var hosts, can, has []string
	for _, m := range state.Members {
		hosts = append(hosts, m.Host)
		if slices.Contains(m.Can, partition) {
			can = append(can, m.Host)
		}
		if slices.Contains(m.Has, partition) {
			has = append(has, m.Host)
		}
	}
	switch {
	case len(hosts) == 0:
		return fmt.Sprintf("no process analyses any fabric: the consumer group %s has no members; start giverny analyze or up with this fabric", group)
	case strings.HasSuffix(state.State, "Rebalance"):
		return fmt.Sprintf("it has no owner while the consumer group %s (%s) rebalances; if that lasts, one of its members hangs", group, strings.Join(hosts, ", "))
	case len(has) > 0:
		return fmt.Sprintf("%s owns it (consumer group %s) and stores nothing; see /-/ready and the log there", strings.Join(has, ", "), group)
	case len(can) > 0:
		return fmt.Sprintf("it has no owner, although %s can analyse it (consumer group %s); see the log there", strings.Join(can, ", "), group)
	}
	return fmt.Sprintf("it has no owner: no member of the consumer group %s (%s) has %s (partition %d) in its fabrics; add it to their configuration with the same partition", group, strings.Join(hosts, ", "), fabric, partition)
}
