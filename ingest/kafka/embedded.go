package kafka

import (
	"context"
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
	"golang.org/x/sys/unix"
)

// EmbeddedConfig is of the broker inside the process.
type EmbeddedConfig struct {
	Dir          string `yaml:"dir"`           // of its data; empty: in memory only
	SegmentBytes int    `yaml:"segment_bytes"` // of one data file
	// Sync writes every record through to the disk before it is acknowledged. Without, an acknowledged
	// record outlives the process but not the machine.
	Sync bool `yaml:"sync"`
}

func defaultEmbeddedConfig() EmbeddedConfig {
	return EmbeddedConfig{SegmentBytes: 8 << 20}
}

func (c *EmbeddedConfig) validate() error {
	if c.SegmentBytes < 1<<20 || c.SegmentBytes > 1<<30 {
		return fmt.Errorf("kafka: embedded.segment_bytes: %d; want 1 MiB to 1 GiB", c.SegmentBytes)
	}
	return nil
}

// Embedded is a Kafka broker inside the process. No port is open: its clients reach it through Dial, over
// pipes in memory, since what it reads is not guarded against a hostile client.
type Embedded struct {
	config Config
	log    *slog.Logger
	pipes  *pipeListener
}

// EmbeddedAddress is what Config.Brokers must be for the embedded broker.
const EmbeddedAddress = "embedded:9092"

// NewEmbedded makes a broker that starts with Run. Clients may dial before that; they wait.
func NewEmbedded(config Config, log *slog.Logger) (*Embedded, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	return &Embedded{config: config, log: log, pipes: newPipeListener()}, nil
}

// Dial reaches the broker from within the process.
func (e *Embedded) Dial(ctx context.Context, _, _ string) (net.Conn, error) { return e.pipes.dial(ctx) }

// Run keeps the broker going until ctx ends and its data are on the disk. It runs once.
func (e *Embedded) Run(ctx context.Context) error {
	defer e.pipes.Close()
	options, own := e.options(), e.config.Embedded
	if own.Dir != "" {
		unlock, err := lockDir(own.Dir)
		if err != nil {
			return fmt.Errorf("embedded broker: %w", err)
		}
		defer unlock()
		options = append(options, kfake.DataDir(filepath.Join(own.Dir, "data")))
	}
	cluster, err := kfake.NewCluster(options...)
	if err != nil {
		return fmt.Errorf("embedded broker in %s: %w; move the folder away to begin with an empty one", own.Dir, err)
	}
	defer cluster.Close()
	retention := time.NewTicker(time.Second) // it does not do so by itself after a reload
	defer retention.Stop()
	for {
		select {
		case <-retention.C:
			cluster.ApplyRetention()
		case <-ctx.Done():
			return nil
		}
	}
}

func (e *Embedded) options() []kfake.Opt {
	options := []kfake.Opt{
		kfake.NumBrokers(1),
		kfake.ListenFn(func(string, string) (net.Listener, error) { return e.pipes, nil }),
		kfake.WithLogger(kfakeLogger{e.log}),
		kfake.BrokerConfigs(map[string]string{
			"log.segment.bytes":   strconv.Itoa(e.config.Embedded.SegmentBytes),
			"log.retention.ms":    strconv.FormatInt(e.config.Topics.Retention.Milliseconds(), 10),
			"log.retention.bytes": strconv.FormatInt(e.config.Topics.RetentionBytes, 10),
			"message.max.bytes":   strconv.Itoa(e.config.MaxMessageBytes + recordOverhead),
		}),
	}
	if e.config.Embedded.Sync {
		options = append(options, kfake.SyncWrites())
	}
	return options
}

// lockDir makes sure that no other process uses the folder, which it makes if it is missing.
func lockDir(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "LOCK")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o640)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s is in use by another process (%s: %w); stop that or choose another folder", dir, path, err)
	}
	return func() { f.Close() }, nil
}

// kfakeLogger takes over the broker's warnings and errors.
type kfakeLogger struct{ log *slog.Logger }

func (l kfakeLogger) Logf(level kfake.LogLevel, format string, args ...any) {
	if level > kfake.LogLevelWarn {
		return
	}
	l.log.Warn("embedded broker", "message", strings.TrimSpace(fmt.Sprintf(format, args...)))
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
func (pipeAddr) String() string  { return EmbeddedAddress }
