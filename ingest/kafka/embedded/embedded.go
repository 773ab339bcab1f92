// Package embedded is a Kafka broker inside the process, for a Giverny without any server. It stores its
// data in a folder and provides a dialer for this process and for others of the same user. It is one node
// without replicas: data lost with its disk is lost.
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
	// Maximum size of one data file in bytes.
	SegmentBytes int `yaml:"segment_bytes"`
	// Bytes that each partition keeps; beyond that its oldest data files are deleted.
	RetentionBytes int64 `yaml:"retention_bytes"`
	// Sync every record to the disk before acknowledging it. Without it, acknowledged records survive a crash of
	// the process but not of the machine.
	Sync bool `yaml:"sync"`
}

// DefaultConfig keeps up to 1 GiB per partition.
func DefaultConfig() Config { return Config{SegmentBytes: 8 << 20, RetentionBytes: 1 << 30} }

// Validate reports all faults of the configuration.
func (c *Config) Validate() error {
	var f faults.List
	f.Check(c.SegmentBytes >= 1<<20 && c.SegmentBytes <= 1<<30, "segment_bytes", "%d: want 1 MiB to 1 GiB", c.SegmentBytes)
	f.Check(c.RetentionBytes == -1 || c.RetentionBytes >= int64(c.SegmentBytes), "retention_bytes", "%d: want -1 for no bound, or at least segment_bytes (%d)", c.RetentionBytes, c.SegmentBytes)
	return f.Err()
}

// Broker is a Kafka broker inside the process. It opens no port, because it is not hardened against hostile
// clients: the process connects through Dial, over in-memory pipes, and other processes of the same user through
// a socket in its folder (see Reach).
type Broker struct {
	config Config
	client kafka.Config
	log    *slog.Logger
	pipes  *pipeListener
}

// Address is the broker's address; Dial connects to the broker whatever the address.
const Address = "embedded:9092"

// New returns a broker that starts with Run. Clients may dial before that; they wait. It takes the retention and
// the maximum message size from its clients' configuration. Without a Dir it keeps its data in memory.
func New(config Config, client kafka.Config, log *slog.Logger) (*Broker, error) {
	b := &Broker{config: config, log: log, pipes: newPipeListener()}
	b.client = b.Client(client)
	if err := errors.Join(config.Validate(), b.client.Validate()); err != nil {
		return nil, fmt.Errorf("embedded broker: %w", err)
	}
	return b, nil
}

// Client returns the configuration of a client of this broker: within the process there is no encryption or
// login, and the broker limits its topics itself.
func (b *Broker) Client(c kafka.Config) kafka.Config { return b.config.client(c) }

func (c *Config) client(of kafka.Config) kafka.Config {
	of.Brokers, of.TLS, of.SASL = []string{Address}, kafka.TLS{}, kafka.SASL{}
	of.RetentionBytes = c.RetentionBytes
	return of
}

// Dial connects to the broker from within the process.
func (b *Broker) Dial(ctx context.Context, _, _ string) (net.Conn, error) { return b.pipes.dial(ctx) }

// Run runs the broker until ctx ends and its data is on disk. It can run only once.
func (b *Broker) Run(ctx context.Context) error {
	defer b.pipes.Close()
	options := b.options()
	if dir := b.config.Dir; dir != "" {
		if err := os.MkdirAll(dir, 0o750); err != nil {
			return fmt.Errorf("embedded broker: %w; set data_dir to a directory that this user may write to", err)
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
		return fmt.Errorf("embedded broker in %s: %w; move the directory away to start with an empty one", b.config.Dir, err)
	}
	defer cluster.Close()
	var running errgroup.Group
	running.Go(func() error { b.serveOthers(ctx); return nil })
	retention := time.NewTicker(time.Second) // the broker does not apply it by itself after a reload
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

// lockPatience is how long to wait for a previous process to exit.
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

// kfakeLogger forwards the broker's warnings and errors.
type kfakeLogger struct{ log *slog.Logger }

func (l kfakeLogger) Logf(level kfake.LogLevel, format string, args ...any) {
	if level > kfake.LogLevelWarn {
		return
	}
	l.log.Warn("kafka: warning from the embedded broker", "message", strings.TrimSpace(fmt.Sprintf(format, args...)))
}

// pipeListener is a net.Listener of in-memory pipes.
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
