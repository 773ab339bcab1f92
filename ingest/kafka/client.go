package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/internal/retry"
)

// Dial opens a connection to a broker. It has the type of net.Dialer's DialContext.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Client is what producers and consumers share: one pool of connections.
type Client struct {
	config    Config
	metrics   *Metrics
	log       *slog.Logger
	kafka     *kafkago.Client
	transport *kafkago.Transport
	conns     openConns
}

// NewClient makes a client; it connects when it is used. A nil dial is TCP. Certificates and passwords are
// read now, so a client does not notice when they change.
func NewClient(config Config, dial Dial, metrics *Metrics, log *slog.Logger) (*Client, error) {
	if err := config.Validate(); err != nil {
		return nil, faults.At("kafka", err)
	}
	tlsConfig, err := config.TLS.config()
	if err != nil {
		return nil, faults.At("kafka", err)
	}
	mechanism, err := config.SASL.mechanism()
	if err != nil {
		return nil, faults.At("kafka", err)
	}
	if dial == nil {
		dial = (&net.Dialer{Timeout: config.DialTimeout}).DialContext
	}
	if mechanism != nil && tlsConfig == nil {
		log.Warn("kafka: login without TLS, anybody on the network can read along; set kafka.tls.enabled", "mechanism", mechanism.Name())
	}
	c := &Client{config: config, metrics: metrics, log: log}
	c.conns.dial = dial
	c.transport = &kafkago.Transport{
		Dial:        c.conns.open,
		DialTimeout: config.DialTimeout,
		MetadataTTL: 2 * time.Second, // bounds how long a new leader or topic stays unknown
		ClientID:    config.ClientID,
		TLS:         tlsConfig,
		SASL:        mechanism,
	}
	c.kafka = &kafkago.Client{Addr: kafkago.TCP(config.Brokers...), Timeout: config.RequestTimeout, Transport: c.transport}
	return c, nil
}

// Config is what the client was made with.
func (c *Client) Config() *Config { return &c.config }

// Ping asks a broker for an answer, past every cache.
func (c *Client) Ping(ctx context.Context) error {
	if _, err := c.kafka.ApiVersions(ctx, &kafkago.ApiVersionsRequest{}); err != nil {
		return fmt.Errorf("ping Kafka at %v: %w", c.config.Brokers, err)
	}
	return nil
}

// Close ends all connections. Producers and consumers must have returned.
func (c *Client) Close() {
	c.transport.CloseIdleConnections()
	c.conns.closeAll()
}

// reset closes every connection, used or idle; the next request opens new ones and asks where the leaders
// are. Requests under way fail and are tried again by those who sent them.
func (c *Client) reset(reason string) {
	c.metrics.reconnects.WithLabelValues(reason).Inc()
	c.log.Warn("kafka: closing all connections to reconnect", "reason", reason)
	c.Close()
}

// openConns knows every open connection, since the transport closes only the idle ones.
type openConns struct {
	dial Dial

	mu    sync.Mutex
	conns map[*openConn]struct{} // guarded by mu
}

type openConn struct {
	net.Conn
	owner *openConns
}

func (o *openConns) open(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := o.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &openConn{Conn: conn, owner: o}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.conns == nil {
		o.conns = make(map[*openConn]struct{})
	}
	o.conns[c] = struct{}{}
	return c, nil
}

func (o *openConns) closeAll() {
	o.mu.Lock()
	conns := o.conns
	o.conns = nil
	o.mu.Unlock()
	for c := range conns {
		c.Conn.Close()
	}
}

func (c *openConn) Close() error {
	c.owner.mu.Lock()
	delete(c.owner.conns, c)
	c.owner.mu.Unlock()
	return c.Conn.Close()
}

// backoff is how long to wait between tries.
func (c *Client) backoff() retry.Backoff {
	return retry.Backoff{Min: c.config.RetryMin, Max: c.config.RetryMax}
}

// retry tries until it works or ctx ends.
func (c *Client) retry(ctx context.Context, what string, try func() error) error {
	tries := 1
	err := c.backoff().Do(ctx, try, func(err error, failures int, pause time.Duration) {
		tries = failures + 1
		if worthLogging(failures) {
			c.log.Warn("kafka: request failed, retrying", "operation", what, "failures", failures, "pause", pause, "error", err)
		}
	})
	if err != nil {
		return fmt.Errorf("%s at %v, %d tries: %w", what, c.config.Brokers, tries, err)
	}
	return nil
}

// worthLogging is true for the first failure of a row and every tenth.
func worthLogging(failures int) bool { return failures == 1 || failures%10 == 0 }

// retryReason is the label of an error that asks for another try.
func retryReason(err error) string {
	if _, ok := errors.AsType[kafkago.Error](err); ok {
		return retryBroker
	}
	return retryNetwork
}
