package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"github.com/giverny/giverny/collectors"
	"github.com/giverny/giverny/collectors/ethtool"
	"github.com/giverny/giverny/collectors/ibsysfs"
	"github.com/giverny/giverny/collectors/perfquery"
	"github.com/giverny/giverny/ingest/emitter"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/ingest/spool"
	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/lifecycle"
	"github.com/giverny/giverny/schema"
)

type collectFlags struct {
	once, json bool
	sources    []string
}

func newCollect(g *globals) *cobra.Command {
	var f collectFlags
	cmd := &cobra.Command{
		Use:   "collect",
		Short: "Read this host's counters into Kafka",
		Long: `Read the counters of this host, or of a whole InfiniBand subnet, into Kafka.

The sources are those enabled under collect in the configuration, or those named
with --source: ibsysfs (/sys/class/infiniband), ethtool, perfquery. While Kafka
is away readings wait in a spool on disk.

With --once every source is read once and what was read is printed; nothing is
sent.`,
		Example: "  giverny collect --once --json --source ibsysfs",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, log, err := g.load(cmd)
			if err != nil {
				return err
			}
			for _, s := range f.sources {
				if err := enableSource(&cfg.Collect, s); err != nil {
					return err
				}
			}
			if f.once {
				return collectOnce(cmd.Context(), cmd, cfg, log, f.json)
			}
			p := newProcess(cfg, log)
			return p.collect(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&f.once, "once", false, "read once, print, and end")
	cmd.Flags().BoolVar(&f.json, "json", false, "with --once: one JSON object per row")
	cmd.Flags().StringSliceVar(&f.sources, "source", nil, "sources to read, beside those enabled in the configuration")
	return cmd
}

func enableSource(c *config.Collect, name string) error {
	switch name {
	case "ibsysfs":
		c.IBSysfs.Enabled = true
	case "ethtool":
		c.Ethtool.Enabled = true
	case "perfquery":
		c.Perfquery.Enabled = true
	default:
		return fmt.Errorf("--source %q: want ibsysfs, ethtool or perfquery", name)
	}
	return nil
}

// newCollectors makes the enabled sources.
func newCollectors(c config.Collect) ([]collectors.Collector, error) {
	host, err := agentName(c)
	if err != nil {
		return nil, err
	}
	var list []collectors.Collector
	if c.IBSysfs.Enabled {
		cfg := ibsysfs.DefaultConfig(host)
		cfg.Root, cfg.Identify = c.IBSysfs.Root, ibsysfs.Identify(c.IBSysfs.Identify)
		source, err := ibsysfs.New(cfg)
		if err != nil {
			return nil, err
		}
		list = append(list, source)
	}
	if c.Ethtool.Enabled {
		cfg := ethtool.DefaultConfig(host)
		cfg.Interfaces, cfg.Extra = c.Ethtool.Interfaces, c.Ethtool.Extra
		kernel, err := ethtool.OpenLinux()
		if err != nil {
			return nil, err
		}
		source, err := ethtool.New(cfg, kernel)
		if err != nil {
			return nil, err
		}
		list = append(list, source)
	}
	if c.Perfquery.Enabled {
		cfg := perfquery.DefaultConfig()
		cfg.CA, cfg.CAPort, cfg.QueryTimeout = c.Perfquery.Adapter, c.Perfquery.Port, c.Perfquery.Timeout
		source, err := perfquery.New(cfg)
		if err != nil {
			return nil, err
		}
		list = append(list, source)
	}
	if len(list) == 0 {
		return nil, errors.New("no source is enabled: enable ibsysfs, ethtool or perfquery under collect, or name one with --source")
	}
	return list, nil
}

func agentName(c config.Collect) (string, error) {
	if c.Agent != "" {
		return c.Agent, nil
	}
	name, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("name of this host: %w; set collect.agent", err)
	}
	return name, nil
}

// pollInterval is how often to read: as configured, or as the fabric's.
func pollInterval(cfg config.Config) (time.Duration, error) {
	if cfg.Collect.Interval > 0 {
		return cfg.Collect.Interval, nil
	}
	for _, f := range cfg.Fabrics {
		if f.Name == cfg.Collect.Fabric {
			return f.Interval, nil
		}
	}
	return 0, fmt.Errorf("collect.fabric %q is not under fabrics: which fabric do this host's readings belong to?", cfg.Collect.Fabric)
}

// collect polls this host until ctx is cancelled.
func (p *process) collect(ctx context.Context) error {
	if err := p.useKafka(); err != nil {
		return err
	}
	l, err := p.listen()
	if err != nil {
		return err
	}
	return p.run(ctx, l, func(context.Context) ([][]lifecycle.Stage, error) {
		pollers, spool, err := p.agentStages()
		return [][]lifecycle.Stage{pollers, spool}, err
	})
}

// agentStages are the pollers of the enabled sources, and the spool behind them.
func (p *process) agentStages() (pollers, spooling []lifecycle.Stage, err error) {
	interval, err := pollInterval(p.cfg)
	if err != nil {
		return nil, nil, err
	}
	sources, err := newCollectors(p.cfg.Collect)
	if err != nil {
		return nil, nil, err
	}
	queueConfig := spool.DefaultConfig()
	queueConfig.Dir, queueConfig.MaxBytes = filepath.Join(p.cfg.DataDir, "spool"), p.cfg.Collect.SpoolBytes
	queue, err := spool.Open(queueConfig, p.registerer, p.log)
	if err != nil {
		return nil, nil, err
	}
	sink, err := kafka.NewSpoolingProducer(kafka.NewProducer(p.client), queue, interval/2)
	if err != nil {
		return nil, nil, err
	}
	name, err := agentName(p.cfg.Collect)
	if err != nil {
		return nil, nil, err
	}
	agent, err := collectors.NewAgent(name, emitter.New(sink, fabricPartitions(p.cfg.Fabrics)), p.log, p.registerer)
	if err != nil {
		return nil, nil, err
	}
	for _, source := range sources {
		cfg := collectors.DefaultConfig(p.cfg.Collect.Fabric, interval)
		cfg.DeviceTimeout = min(p.cfg.Collect.DeviceTimeout, cfg.PollTimeout)
		if source.Name() == "perfquery" {
			cfg.Workers = p.cfg.Collect.Perfquery.Workers
		}
		poller, err := collectors.New(cfg, source, agent)
		if err != nil {
			return nil, nil, err
		}
		pollers = append(pollers, lifecycle.Stage{Name: "poller " + source.Name(), Run: poller.Run})
	}
	return pollers, []lifecycle.Stage{{Name: "spool", Run: func(ctx context.Context) error {
		err := sink.Run(ctx)
		return errors.Join(err, queue.Close())
	}}}, nil
}

// collectOnce reads every enabled source once and prints the rows, and on
// standard error the devices that could not be read.
func collectOnce(ctx context.Context, cmd *cobra.Command, cfg config.Config, log *slog.Logger, asJSON bool) error {
	sources, err := newCollectors(cfg.Collect)
	if err != nil {
		return err
	}
	name, err := agentName(cfg.Collect)
	if err != nil {
		return err
	}
	agent, err := collectors.NewAgent(name, &printer{out: cmd.OutOrStdout(), json: asJSON}, log, prometheus.NewRegistry())
	if err != nil {
		return err
	}
	for _, source := range sources {
		c := collectors.DefaultConfig("once", time.Minute)
		c.DeviceTimeout = min(cfg.Collect.DeviceTimeout, c.PollTimeout)
		poller, err := collectors.New(c, source, agent)
		if err != nil {
			return err
		}
		health := poller.Once(ctx)
		for device, reason := range health.Failing {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: device %q not read: %s\n", source.Name(), device, reason)
		}
		if health.Err != nil {
			return fmt.Errorf("%s: %w", source.Name(), health.Err)
		}
		if health.Rows == 0 {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: %d devices, no counters\n", source.Name(), health.Devices)
		}
	}
	return nil
}

// printer is an emitter for people.
type printer struct {
	out  io.Writer
	json bool
}

type rowJSON struct {
	Source   string            `json:"source"`
	Time     time.Time         `json:"time"`
	Device   string            `json:"device"`
	Port     string            `json:"port"`
	Counters map[string]uint64 `json:"counters"`
}

// Emit prints each row of a batch.
func (p *printer) Emit(_ context.Context, b *schema.CounterBatch) error {
	enc := json.NewEncoder(p.out)
	for i, nanos := range b.TimeNanos {
		port := b.Ports[b.PortIndex[i]]
		row := rowJSON{b.Source, time.Unix(0, nanos).UTC(), port.Device, port.Port, map[string]uint64{}}
		for _, c := range b.Columns {
			if c.Valid == nil || c.Valid.Has(i) {
				row.Counters[c.Name] = c.Values[i]
			}
		}
		if p.json {
			if err := enc.Encode(row); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(p.out, "%s  %s port %s\n", row.Source, row.Device, row.Port)
		for _, name := range slices.Sorted(maps.Keys(row.Counters)) {
			fmt.Fprintf(p.out, "  %-44s %d\n", name, row.Counters[name])
		}
	}
	return nil
}
