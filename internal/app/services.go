package app

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/ingest/kafka/embedded"
	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/dirlock"
	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/internal/lifecycle"
	"github.com/giverny/giverny/internal/ops"
	"github.com/giverny/giverny/store"
	"github.com/giverny/giverny/store/engine"
)

// services are Kafka and the store, as a process uses them: clients, and the broker and the engine that are embedded in
// this process, if any. Each is nil until it is used.
type services struct {
	cfg        config.Config
	log        *slog.Logger
	ops        *ops.Ops
	registerer prometheus.Registerer // for the metrics of services and parts

	engine *engine.Engine   // nil without an embedded store
	broker *embedded.Broker // nil without an embedded broker
	client *kafka.Client
	db     *store.DB
	groups []*kafka.Coordinator // that newCoordinator made
}

// useKafka creates the client, and the embedded broker if configured.
func (s *services) useKafka() (err error) {
	cfg, dial := s.cfg.Kafka.Client, kafka.Dial(nil)
	if s.cfg.Kafka.Embedded {
		if s.broker, err = embedded.New(s.cfg.EmbeddedBroker(), cfg, s.log); err != nil {
			return err
		}
		cfg, dial = s.broker.Client(cfg), s.broker.Dial
	}
	if err = s.makeClient(cfg, dial); err != nil {
		return err
	}
	s.ops.AddCheck("kafka", s.client.Ping)
	return nil
}

// reachKafka creates only the client: of the configured brokers, or of the broker embedded in another process
// with the same data_dir.
func (s *services) reachKafka() error {
	if !s.cfg.Kafka.Embedded {
		return s.useKafka()
	}
	cfg, dial, err := embedded.Reach(s.cfg.EmbeddedBroker(), s.cfg.Kafka.Client)
	if err != nil {
		return err
	}
	return s.makeClient(cfg, dial)
}

func (s *services) makeClient(cfg kafka.Config, dial kafka.Dial) (err error) {
	metrics, err := kafka.NewMetrics(s.registerer)
	if err != nil {
		return err
	}
	s.client, err = kafka.NewClient(cfg, dial, metrics, s.log)
	return err
}

// newCoordinator returns the group of the processes that share the fabrics, with connections of its own: a query of the page
// must not delay a heartbeat.
func (s *services) newCoordinator() *kafka.Coordinator {
	c := kafka.NewCoordinator(s.client)
	s.groups = append(s.groups, c)
	return c
}

// useStore creates the database client, and the embedded engine if configured.
func (s *services) useStore() error {
	options, err := s.storeOptions()
	if err != nil {
		return err
	}
	return s.openStore(options)
}

// useStoreBeside creates the database client for a command that may run beside giverny up or analyze: if one of these has
// the embedded engine open, the command uses that engine.
func (s *services) useStoreBeside() error {
	if s.cfg.Store.Embedded {
		dir, err := s.engineDir()
		if err != nil {
			return err
		}
		if options, err := engine.Reach(dir, store.DefaultDatabase); err == nil {
			return s.openStore(options)
		}
	}
	return s.useStore()
}

func (s *services) openStore(options *clickhouse.Options) (err error) {
	s.db, err = store.New(options, s.cfg.Store.Tables, store.Deps{Log: s.log, Registerer: s.registerer, Now: time.Now})
	if err != nil {
		return err
	}
	s.ops.AddCheck("store", s.db.CheckReady)
	return nil
}

func (s *services) storeOptions() (*clickhouse.Options, error) {
	cfg := &s.cfg.Store
	if !cfg.Embedded {
		options, err := cfg.Server.Options(s.log)
		return options, faults.At("store", err)
	}
	library, err := engine.FindLibrary(cfg.Library)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program to start the engine with: %w", err)
	}
	dir, err := s.engineDir()
	if err != nil {
		return nil, err
	}
	own := cfg.Engine
	own.LibraryPath, own.DataDir, own.Command = library, dir, []string{self, EngineCommand}
	s.engine, err = engine.New(own, engine.Deps{Logger: s.log, Registerer: s.registerer})
	if err != nil {
		return nil, err
	}
	return s.engine.Options(store.DefaultDatabase), nil
}

// engineDir is the folder of the embedded engine.
func (s *services) engineDir() (string, error) {
	dir, err := filepath.Abs(s.cfg.DataDir) // ClickHouse would resolve a relative path twice
	if err != nil {
		return "", fmt.Errorf("data_dir: %w", err)
	}
	return filepath.Join(dir, "clickhouse"), nil
}

// engineIsFree returns an error if another process, giverny up or analyze, holds the embedded engine's folder but could
// not be reached.
func (s *services) engineIsFree(patience time.Duration) error {
	if s.engine == nil {
		return nil
	}
	dir, err := s.engineDir()
	if err != nil {
		return err
	}
	pid, err := dirlock.Holder(dir, patience)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if pid != "" {
		return fmt.Errorf("store: process %s has the embedded ClickHouse in %s open and could not be reached: run as the user who started it, "+
			"retry if it is still starting, use its API (/api/v1), or let both use a ClickHouse server (store.embedded: false, store.url)", pid, dir)
	}
	return nil
}

// infrastructure runs what is embedded in this process.
func (s *services) infrastructure() (stages []lifecycle.Stage) {
	if s.engine != nil {
		stages = append(stages, lifecycle.Stage{Name: "engine", Run: s.engine.Run})
	}
	if s.broker != nil {
		stages = append(stages, lifecycle.Stage{Name: "broker", Run: s.broker.Run})
	}
	return stages
}

// Close closes the connections. Run and RunOnce do so when they return.
func (s *services) Close() error {
	for _, g := range s.groups {
		g.Close()
	}
	if s.client != nil {
		s.client.Close()
	}
	if s.db != nil {
		return s.db.Close()
	}
	return nil
}
