//go:build integration

package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	kafkago "github.com/segmentio/kafka-go"

	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/test/chaos"
	"github.com/giverny/giverny/topology"
)

// owner is the agent that reads a device.
func owner(g *topology.Graph) func(device string) string {
	return func(device string) string {
		id, _ := g.FindDevice(device)
		return agentName(int(id) % clusterAgents)
	}
}

// history returns the readings recorded by the agents.
func (c *cluster) history() ([]chaos.Reading, error) {
	var paths []string
	for _, name := range agentNames() {
		paths = append(paths, c.journal(name))
	}
	return chaos.ReadHistory(paths)
}

// tables reads what is stored and announced.
func (c *cluster) tables(ctx context.Context) (*chaos.Tables, error) {
	server := config.Default().Store.Server
	if err := server.URL.UnmarshalText([]byte(c.storeURL())); err != nil {
		return nil, err
	}
	options, err := server.Options(slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	conn, err := clickhouse.Open(options)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	t := &chaos.Tables{Ports: map[uint64][]chaos.Port{}}
	t.Announced, err = c.announced(ctx)
	return t, errors.Join(err, storedPorts(ctx, conn, t), storedIntervals(ctx, conn, t), storedTwice(ctx, conn, t))
}

func storedPorts(ctx context.Context, conn driver.Conn, t *chaos.Tables) error {
	return each(ctx, conn, "SELECT graph_version, link, any(from_device), any(from_port) FROM links GROUP BY graph_version, link ORDER BY graph_version, link",
		func(rows driver.Rows) error {
			var version uint64
			var link uint32
			var p chaos.Port
			if err := rows.Scan(&version, &link, &p.Device, &p.Port); err != nil {
				return err
			}
			if int(link) != len(t.Ports[version]) {
				return fmt.Errorf("version %016x of the graph: link %d is missing", version, len(t.Ports[version]))
			}
			t.Ports[version] = append(t.Ports[version], p)
			return nil
		})
}

func storedIntervals(ctx context.Context, conn driver.Conn, t *chaos.Tables) error {
	const blockLinks = 512
	return each(ctx, conn, `SELECT toInt64(toUnixTimestamp64Milli(i.time)), i.graph_version, toInt64(toUnixTimestamp64Micro(i.stored_at)), i.unknown, s.blocks, s.percents
FROM (SELECT time, graph_version, revision, stored_at, toString(unknown) AS unknown FROM intervals ORDER BY time, revision DESC, stored_at DESC LIMIT 1 BY time) AS i
LEFT JOIN (SELECT time, graph_version, revision, groupArray(block) AS blocks, groupArray(arrayMap(p -> ifNull(p / 100, nan), percents)) AS percents
    FROM link_samples WHERE metric = 'credit_stall' GROUP BY time, graph_version, revision) AS s
USING (time, graph_version, revision) ORDER BY time`,
		func(rows driver.Rows) error {
			var millis, micros int64
			var s chaos.Interval
			var blocks []uint32
			var percents [][]float64
			if err := rows.Scan(&millis, &s.Version, &micros, &s.Unknown, &blocks, &percents); err != nil {
				return err
			}
			s.StartNanos, s.StoredNanos = millis*1e6, micros*1e3
			s.Percents = make([]float64, len(t.Ports[s.Version]))
			for i := range s.Percents {
				s.Percents[i] = math.NaN()
			}
			for i, block := range blocks {
				copy(s.Percents[block*blockLinks:], percents[i])
			}
			t.Intervals = append(t.Intervals, s)
			return nil
		})
}

// storedTwice finds duplicate rows within a revision.
func storedTwice(ctx context.Context, conn driver.Conn, t *chaos.Tables) error {
	for table, key := range tableKeys {
		if strings.Contains(key, "time") || strings.Contains(key, "interval_start") {
			key = strings.TrimSuffix(key, ")") + ", revision)"
		}
		var n int64
		if err := conn.QueryRow(ctx, "SELECT toInt64(count()) - toInt64(uniqExact"+key+") FROM "+table).Scan(&n); err != nil {
			return fmt.Errorf("%s: %w", table, err)
		}
		if n > 0 {
			t.Doubled = append(t.Doubled, fmt.Sprintf("%d rows of %s", n, table))
		}
	}
	return nil
}

func each(ctx context.Context, conn driver.Conn, query string, scan func(driver.Rows) error) error {
	rows, err := conn.Query(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// announced reads the topic of regions from beginning to end.
func (c *cluster) announced(ctx context.Context) (starts []int64, err error) {
	const topic = "giverny.regions"
	dial := &kafkago.Dialer{Timeout: 10 * time.Second, DialFunc: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, c.broker.Addr())
	}}
	conn, err := dial.DialLeader(ctx, "tcp", c.broker.Addr(), topic, 0)
	if err != nil {
		return nil, err
	}
	end, err := conn.ReadLastOffset()
	conn.Close()
	if err != nil {
		return nil, err
	}
	reader := kafkago.NewReader(kafkago.ReaderConfig{Brokers: []string{c.broker.Addr()}, Topic: topic, Dialer: dial, MaxBytes: 8 << 20})
	defer reader.Close()
	for n := int64(0); n < end; n++ {
		m, err := reader.ReadMessage(ctx)
		if err != nil {
			return nil, err
		}
		set, err := new(envelope.Decoder).Regions(m.Value)
		if err != nil {
			return nil, err
		}
		starts = append(starts, set.Interval.StartNanos)
		n = m.Offset
	}
	return starts, nil
}

// stumbled describes how parts ended that no fault had ended. A broker or store without disk space may do so;
// Giverny's parts must not.
func (c *cluster) stumbled() (ours, others []string) {
	for name, part := range c.parts {
		if name == partBroker || name == partStore {
			others = append(others, part.Ended()...)
		} else {
			ours = append(ours, part.Ended()...)
		}
	}
	return ours, others
}
