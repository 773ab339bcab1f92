// Package embedded is a Kafka broker inside the process, for a Giverny without any server. A folder
// goes in, a way to dial comes out, for this process and for others of the same user. It is one node without
// replicas: what a disk loses is lost.
package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"golang.org/x/sync/errgroup"

	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/internal/dirlock"
	"github.com/giverny/giverny/internal/faults"
)

// Config of the broker.
type Config struct {
	// Folder of its data; empty: the folder kafka under data_dir.
	Dir string `yaml:"dir"`
	// Bytes of one data file.
	SegmentBytes int `yaml:"segment_bytes"`
	// Bytes that each partition keeps; beyond that its oldest data files are deleted.
	RetentionBytes int64 `yaml:"retention_bytes"`
	// Write every record through to the disk before it is acknowledged. Without it, acknowledged records survive
	// a crash of the process but not of the machine.
	Sync bool `yaml:"sync"`
}

// DefaultConfig keeps up to 1 GiB per partition.
func DefaultConfig() Config { return Config{SegmentBytes: 8 << 20, RetentionBytes: 1 << 30} }

// Validate joins all faults of the configuration.
func (c *Config) Validate() error {
	var f faults.List
	f.Check(c.SegmentBytes >= 1<<20 && c.SegmentBytes <= 1<<30, "segment_bytes", "%d: want 1 MiB to 1 GiB", c.SegmentBytes)
	f.Check(c.RetentionBytes == -1 || c.RetentionBytes >= int64(c.SegmentBytes), "retention_bytes", "%d: want -1 for no bound, or at least segment_bytes (%d)", c.RetentionBytes, c.SegmentBytes)
	return f.Err()
}

// Broker is a Kafka broker inside the process. No port is open, since what it reads is not guarded against a
// hostile client: the process reaches it through Dial, over pipes in memory, and other processes of the same user
// through a socket in its folder (see Reach).
type Broker struct {
	config Config
	client kafka.Config
	log    *slog.Logger
	pipes  *pipeListener
}

// Address of the broker, which Dial takes for the broker's whatever is dialled.
const Address = "embedded:9092"

// New makes a broker that starts with Run. Clients may dial before that; they wait. Of its clients'
// configuration it takes the retention and the longest message. A broker without a Dir keeps its data in memory.
func New(config Config, client kafka.Config, log *slog.Logger) (*Broker, error) {
	b := &Broker{config: config, log: log, pipes: newPipeListener()}
	b.client = b.Client(client)
	if err := errors.Join(config.Validate(), b.client.Validate()); err != nil {
		return nil, fmt.Errorf("embedded broker: %w", err)
	}
	return b, nil
}

// Client is the configuration of a client of this broker: in the process there is nothing to encrypt and no one
// to log in, and the broker bounds its topics by itself.
func (b *Broker) Client(c kafka.Config) kafka.Config { return b.config.client(c) }

func (c *Config) client(of kafka.Config) kafka.Config {
	of.Brokers, of.TLS, of.SASL = []string{Address}, kafka.TLS{}, kafka.SASL{}
	of.RetentionBytes = c.RetentionBytes
	return of
}

// Dial reaches the broker from within the process.
func (b *Broker) Dial(ctx context.Context, _, _ string) (net.Conn, error) { return b.pipes.dial(ctx) }

// Run keeps the broker going until ctx ends and its data are on the disk. It runs once.
func (b *Broker) Run(ctx context.Context) error {
	defer b.pipes.Close()
	options := b.options()
	if dir := b.config.Dir; dir != "" {
		if err := os.MkdirAll(dir, 0o750); err != nil {
			return fmt.Errorf("embedded broker: %w; set data_dir to a folder that this user may write to", err)
		}
		release, err := dirlock.Acquire(dir, lockPatience)
		if err != nil {
			return fmt.Errorf("embedded broker: %w", err)
		}
		defer release()
		options = append(options, kfake.DataDir(filepath.Join(dir, "data")))
	}
	cluster, err := kfake.NewCluster(options...)
	if err != nil {
		return fmt.Errorf("embedded broker in %s: %w; move the folder away to begin with an empty one", b.config.Dir, err)
	}
	defer cluster.Close()
	var running errgroup.Group
	running.Go(func() error { b.serveOthers(ctx); return nil })
	retention := time.NewTicker(time.Second) // it does not do so by itself after a reload
	defer retention.Stop()
	for {
		select {
		case <-retention.C:
			cluster.ApplyRetention()
		case <-ctx.Done():
			return running.Wait()
		}
	}
}

// lockPatience is how long a former process may take to leave.
const lockPatience = 2 * time.Second

func (b *Broker) options() []kfake.Opt {
	options := []kfake.Opt{
		kfake.NumBrokers(1),
		kfake.ListenFn(func(string, string) (net.Listener, error) { return b.pipes, nil }),
		kfake.WithLogger(kfakeLogger{b.log}),
		kfake.BrokerConfigs(map[string]string{
			"log.segment.bytes":   strconv.Itoa(b.config.SegmentBytes),
			"log.retention.ms":    strconv.FormatInt(b.client.Retention.Milliseconds(), 10),
			"log.retention.bytes": strconv.FormatInt(b.config.RetentionBytes, 10),
			"message.max.bytes":   strconv.Itoa(b.client.MaxBatchBytes()),
		}),
	}
	if b.config.Sync {
		options = append(options, kfake.SyncWrites())
	}
	return options
}

// kfakeLogger takes over the broker's warnings and errors.
type kfakeLogger struct{ log *slog.Logger }

func (l kfakeLogger) Logf(level kfake.LogLevel, format string, args ...any) {
	if level > kfake.LogLevelWarn {
		return
	}
	l.log.Warn("kafka: embedded broker warns", "message", strings.TrimSpace(fmt.Sprintf(format, args...)))
}

// pipeListener is a net.Listener whose connections are pairs of ends in memory.
type pipeListener struct {
	arriving chan net.Conn
	closed   chan struct{}
	once     sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{arriving: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *pipeListener) dial(ctx context.Context) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.arriving <- theirs:
		return ours, nil
	case <-l.closed:
		return nil, fmt.Errorf("dial the embedded broker: %w", net.ErrClosed)
	case <-ctx.Done():
		return nil, fmt.Errorf("dial the embedded broker: %w", ctx.Err())
	}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.arriving:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return Address }
