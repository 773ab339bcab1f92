package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"

	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/internal/secret"
	"github.com/giverny/giverny/internal/tlsfile"
)

// Config is the configuration of the brokers' addresses and the topics.
type Config struct {
	// Addresses, host:port, of some brokers of the cluster.
	Brokers []string `yaml:"brokers,flow"`
	// Prefix of the topics' names.
	TopicPrefix string `yaml:"topic_prefix"`
	// Replicas of topics that Giverny creates; -1: the brokers' default.
	Replication int `yaml:"replication"`
	// How long topics that Giverny creates keep records, on brokers of your own as on the embedded one; an
	// outage of the analysis may last as long. Existing topics are not changed.
	Retention time.Duration `yaml:"retention"`
	// Bytes that each partition of topics that Giverny creates keeps; -1: only time limits it. The embedded
	// broker has its own limit.
	RetentionBytes int64 `yaml:"retention_bytes"`
	// Encryption.
	TLS TLS `yaml:"tls"`
	// Authentication.
	SASL SASL `yaml:"sasl"`
	// Name of this process in the brokers' logs and quotas.
	ClientID string `yaml:"client_id"`
	// How long to wait for a connection, TLS handshake and login included.
	DialTimeout time.Duration `yaml:"dial_timeout"`
	// How long to wait for the answer to one request before it is tried again, up to 15s.
	RequestTimeout time.Duration `yaml:"request_timeout"`
	// Back-off after the first failed request; it doubles with each further failure.
	RetryMin time.Duration `yaml:"retry_min"`
	// The longest back-off between attempts.
	RetryMax time.Duration `yaml:"retry_max"`
	// Sending.
	Producer ProducerConfig `yaml:"producer"`
	// Receiving.
	Consumer ConsumerConfig `yaml:"consumer"`
}

// TLS protects the connections. Certificates are PEM files.
type TLS struct {
	// Use TLS to the brokers.
	Enabled bool `yaml:"enabled"`
	// PEM file of the authorities to trust, read again when it changes; empty: the system's.
	CA string `yaml:"ca"`
	// PEM file of this client's certificate, for mutual TLS; read again when it changes.
	Cert string `yaml:"cert"`
	// PEM file of its key.
	Key string `yaml:"key"`
	// The name that the server's certificate must have; empty: the host name.
	ServerName string `yaml:"server_name"`
}

// SASL authenticates this client.
type SASL struct {
	// none, PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512.
	Mechanism string `yaml:"mechanism"`
	// The user.
	User string `yaml:"user"`
	// The password; better given by the environment or password_file.
	Password secret.Text `yaml:"password"`
	// A file with nothing but the password, instead of password; read for each connection. A newline at its end is removed.
	PasswordFile string `yaml:"password_file"`
}

// DefaultConfig is for one broker on this host.
func DefaultConfig() Config {
	return Config{
		Brokers:        []string{"localhost:9092"},
		TopicPrefix:    "giverny.",
		Replication:    -1,
		Retention:      24 * time.Hour,
		RetentionBytes: -1,
		SASL:           SASL{Mechanism: "none"},
		ClientID:       "giverny",
		DialTimeout:    5 * time.Second,
		RequestTimeout: 10 * time.Second,
		RetryMin:       100 * time.Millisecond,
		RetryMax:       5 * time.Second,
		Producer:       defaultProducerConfig(),
		Consumer:       defaultConsumerConfig(),
	}
}

// Topic returns the name of the topic for a kind of payload.
func (c *Config) Topic(kind envelope.Kind) string { return c.TopicPrefix + kind.String() }

// DeadLetterTopic returns the name of the topic for unreadable records.
func (c *Config) DeadLetterTopic() string { return c.TopicPrefix + "deadletter" }

// recordOverhead is an upper bound for a record's batch header, key and headers.
const recordOverhead = 64 << 10

// MaxBatchBytes is the message size that brokers must accept: they count the record's overhead.
func (c *Config) MaxBatchBytes() int { return c.Producer.MaxMessageBytes + recordOverhead }

// Validate reports all faults of the configuration. Each starts with the key at fault.
func (c *Config) Validate() error {
	var f faults.List
	f.Check(len(c.Brokers) > 0, "brokers", "none given; name at least one as host:port")
	for _, b := range c.Brokers {
		host, port, err := net.SplitHostPort(b)
		f.Check(err == nil && host != "" && port != "", "brokers", "%q is not host:port", b)
	}
	f.Check(validTopicPrefix(c.TopicPrefix), "topic_prefix", "%q: want letters, digits, dots, hyphens and underscores, up to 200", c.TopicPrefix)
	f.Check(c.Replication >= -1, "replication", "%d: want -1 for the brokers' default, or at least 1", c.Replication)
	f.Check(c.Retention >= time.Minute, "retention", "%v: want at least a minute", c.Retention)
	f.Check(c.RetentionBytes == -1 || c.RetentionBytes >= 1<<20, "retention_bytes", "%d: want -1 for no bound, or at least 1 MiB", c.RetentionBytes)
	f.Check(c.DialTimeout > 0, "dial_timeout", "%v: want more than 0", c.DialTimeout)
	f.Check(c.RequestTimeout > 0 && c.RequestTimeout <= maxTry, "request_timeout", "%v: want more than 0, up to %v", c.RequestTimeout, maxTry)
	f.Check(c.RetryMin > 0, "retry_min", "%v: want more than 0", c.RetryMin)
	f.Check(c.RetryMax >= c.RetryMin, "retry_max", "%v: want at least retry_min (%v)", c.RetryMax, c.RetryMin)
	f.Under("tls", c.TLS.validate())
	f.Under("sasl", c.SASL.validate())
	f.Under("producer", c.Producer.validate())
	f.Under("consumer", c.Consumer.validate())
	return f.Err()
}

func validTopicPrefix(s string) bool {
	return len(s) <= 200 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == "" // Kafka's own rule
}

func (t *TLS) files() tlsfile.Files { return tlsfile.Files{CA: t.CA, Cert: t.Cert, Key: t.Key} }

func (t *TLS) validate() error {
	files := t.files()
	if !t.Enabled {
		if files != (tlsfile.Files{}) {
			return errors.New("enabled: false, but certificates are given; set it to true")
		}
		return nil
	}
	return files.Validate()
}

// client returns nil if TLS is off.
func (t *TLS) client(log *slog.Logger) (*tlsfile.Client, error) {
	if !t.Enabled {
		return nil, nil
	}
	client, err := tlsfile.NewClient(t.files(), log)
	if err != nil {
		return nil, fmt.Errorf("tls.%w", err)
	}
	return client, nil
}

func (s *SASL) validate() error {
	switch s.Mechanism {
	case "", "none":
		return nil
	case "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512":
	default:
		return fmt.Errorf("mechanism: %q: want none, PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512", s.Mechanism)
	}
	if s.User == "" {
		return fmt.Errorf("user: %s needs one", s.Mechanism)
	}
	if s.Password.IsSet() == (s.PasswordFile != "") {
		return errors.New("password: give either this or password_file, not both")
	}
	return nil
}

// renewed is a mechanism that reads the password for each connection.
type renewed struct{ settings *SASL }

// Name of the mechanism.
func (r renewed) Name() string { return r.settings.Mechanism }

// Start begins the login of a connection.
func (r renewed) Start(ctx context.Context) (sasl.StateMachine, []byte, error) {
	mechanism, err := r.settings.read()
	if err != nil {
		return nil, nil, err
	}
	return mechanism.Start(ctx)
}

// mechanism returns nil without a login.
func (s *SASL) mechanism() (sasl.Mechanism, error) {
	if mechanism, err := s.read(); mechanism == nil || err != nil {
		return nil, err
	}
	return renewed{s}, nil
}

// read returns the mechanism with the password as it is now.
func (s *SASL) read() (sasl.Mechanism, error) {
	password, err := s.Password.Or(s.PasswordFile)
	if err != nil {
		return nil, fmt.Errorf("sasl.password_file: %w", err)
	}
	switch s.Mechanism {
	case "PLAIN":
		return plain.Mechanism{Username: s.User, Password: password}, nil
	case "SCRAM-SHA-256":
		return scram.Mechanism(scram.SHA256, s.User, password)
	case "SCRAM-SHA-512":
		return scram.Mechanism(scram.SHA512, s.User, password)
	}
	return nil, nil
}
