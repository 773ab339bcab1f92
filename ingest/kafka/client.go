package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"

	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/internal/retry"
	"github.com/giverny/giverny/internal/tlsfile"
)

// Dial opens a connection to a broker. It has the type of net.Dialer's DialContext.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Client is the connection pool that producers and consumers share.
type Client struct {
	config    Config
	metrics   *Metrics
	log       *slog.Logger
	kafka     *kafkago.Client
	transport *kafkago.Transport
	conns     openConns
	secured   *tlsfile.Client // nil without TLS
}

// dial opens a connection to a broker.
func (c *Client) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := c.conns.open(ctx, network, address)
	if err != nil || c.secured == nil {
		return conn, err
	}
	return c.secured.Over(conn, address, c.config.TLS.ServerName), nil
}

// NewClient returns a client, which connects on first use. A nil dial means TCP. Each connection is
// made with the authorities, the certificate and the password that the files have at that time.
func NewClient(config Config, dial Dial, metrics *Metrics, log *slog.Logger) (*Client, error) {
	if err := config.Validate(); err != nil {
		return nil, faults.At("kafka", err)
	}
	secured, err := config.TLS.client(log)
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
	if mechanism != nil && secured == nil {
		log.Warn("kafka: login without TLS, credentials can be read on the network; set kafka.tls.enabled", "mechanism", mechanism.Name())
	}
	c := &Client{config: config, metrics: metrics, log: log, secured: secured}
	c.conns.dial = dial
	c.transport = &kafkago.Transport{
		Dial:        c.dial,
		DialTimeout: config.DialTimeout,
		MetadataTTL: 2 * time.Second, // bounds how long a new leader or topic stays unknown
		ClientID:    config.ClientID,
		SASL:        mechanism,
	}
	c.kafka = &kafkago.Client{Addr: kafkago.TCP(config.Brokers...), Timeout: config.RequestTimeout, Transport: c.transport}
	return c, nil
}

// Config returns the client's configuration.
func (c *Client) Config() *Config { return &c.config }

// Ping sends a request to a broker, bypassing all caches.
func (c *Client) Ping(ctx context.Context) error {
	if _, err := c.kafka.ApiVersions(ctx, &kafkago.ApiVersionsRequest{}); err != nil {
		return fmt.Errorf("ping Kafka at %v: %w", c.config.Brokers, err)
	}
	return nil
}

// Close closes all connections. Producers and consumers must have returned.
func (c *Client) Close() {
	c.transport.CloseIdleConnections()
	c.conns.closeAll()
}

// reset closes every connection, in use or idle; the next request opens new ones and looks up the
// leaders. Requests in flight fail and are retried by their callers.
func (c *Client) reset(reason string) {
	c.metrics.reconnects.WithLabelValues(reason).Inc()
	c.log.Warn("kafka: closing all connections to reconnect", "reason", reason)
	c.Close()
}

// openConns tracks every open connection, since the transport closes only idle ones.
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

// backoff is the pause between tries.
func (c *Client) backoff() retry.Backoff {
	return retry.Backoff{Min: c.config.RetryMin, Max: c.config.RetryMax}
}

// retry retries until it succeeds or ctx ends.
func (c *Client) retry(ctx context.Context, what string, try func() error) error {
	tries := 1
	err := c.backoff().Do(ctx, try, func(err error, failures int, pause time.Duration) {
		tries = failures + 1
		if worthLogging(failures, err) {
			c.log.Warn("kafka: request failed, retrying", "operation", what, "failures", failures, "pause", pause, "error", c.cause(ctx, err))
		}
	})
	if err != nil {
		return fmt.Errorf("%s at %v, %d tries: %w", what, c.config.Brokers, tries, err)
	}
	return nil
}

// topicPatience is how many failures in a row are normal for a topic that was just created: the transport caches its
// metadata, and brokers learn of a topic one after the other.
const topicPatience = 5

// worthLogging is true for the first failure in a row and every tenth; for an unknown topic from topicPatience on.
func worthLogging(failures int, err error) bool {
	first := 1
	if errors.Is(err, kafkago.UnknownTopicOrPartition) || errors.Is(err, protocol.ErrNoTopic) { // by the broker, by the client's metadata
		first = topicPatience
	}
	return failures == first || failures%10 == 0
}

// cause returns why no broker is available. The library says only that none is, or if none ever was that there is no topic,
// whether they are down, refuse the login, or have a certificate that is not trusted; a ping has the reason.
func (c *Client) cause(ctx context.Context, err error) error {
	if !errors.Is(err, kafkago.BrokerNotAvailable) && !errors.Is(err, protocol.ErrNoTopic) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.config.DialTimeout)
	defer cancel()
	return cmp.Or(c.Ping(ctx), err)
}

// retryReason returns the reason label of a retryable error.
func retryReason(err error) string {
	if _, ok := errors.AsType[kafkago.Error](err); ok {
		return retryBroker
	}
	return retryNetwork
}
