package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"
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
		return nil, err
	}
	tlsConfig, err := config.TLS.config()
	if err != nil {
		return nil, err
	}
	mechanism, err := config.SASL.mechanism()
	if err != nil {
		return nil, err
	}
	if dial == nil {
		dial = (&net.Dialer{Timeout: config.DialTimeout}).DialContext
	}
	if mechanism != nil && tlsConfig == nil {
		log.Warn("login to Kafka without TLS: whoever listens can read along; set kafka.tls.enabled", "mechanism", mechanism.Name())
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
// are. Requests under way fail and are tried again by whoever sent them.
func (c *Client) reset(reason string) {
	c.metrics.reconnects.WithLabelValues(reason).Inc()
	c.log.Warn("closing all connections to Kafka to begin anew", "reason", reason)
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

// pause waits before the next try: it doubles from RetryMin to RetryMax and varies by a quarter, so that a
// hundred agents do not come back at once. It returns false when ctx ends first.
func (c *Client) pause(ctx context.Context, failures int) bool {
	d := c.config.RetryMin << min(failures-1, 20)
	if d <= 0 || d > c.config.RetryMax {
		d = c.config.RetryMax
	}
	d += time.Duration((rand.Float64() - 0.5) / 2 * float64(d))
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// retryReason is the label of an error that asks for another try.
func retryReason(err error) string {
	if _, ok := errors.AsType[kafkago.Error](err); ok {
		return retryBroker
	}
	return retryNetwork
}
