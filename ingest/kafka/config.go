package kafka

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"

	"github.com/giverny/giverny/ingest/envelope"
)

// Config says how to reach the brokers and what the topics are like.
type Config struct {
	Brokers     []string `yaml:"brokers"`      // host:port, any that know the others
	TopicPrefix string   `yaml:"topic_prefix"` // of every topic's name
	ClientID    string   `yaml:"client_id"`    // what the brokers' logs and quotas call this process
	TLS         TLS      `yaml:"tls"`
	SASL        SASL     `yaml:"sasl"`
	Topics      Topics   `yaml:"topics"`

	DialTimeout    time.Duration `yaml:"dial_timeout"`    // TLS handshake and login included
	RequestTimeout time.Duration `yaml:"request_timeout"` // of one request, before it is tried again
	RetryMin       time.Duration `yaml:"retry_min"`       // pause after the first failure; it doubles
	RetryMax       time.Duration `yaml:"retry_max"`
	// MaxMessageBytes bounds a payload. Topics are made with room for the record's own overhead above it.
	MaxMessageBytes int `yaml:"max_message_bytes"`
	// MaxQueuedBytes bounds what waits in memory for an acknowledgement; more makes producers wait.
	MaxQueuedBytes int `yaml:"max_queued_bytes"`

	Consumer ConsumerConfig `yaml:"consumer"`
	Spool    SpoolConfig    `yaml:"spool"`
	Embedded EmbeddedConfig `yaml:"embedded"`
}

// TLS protects the connections. Certificates are PEM files.
type TLS struct {
	Enabled    bool   `yaml:"enabled"`
	CA         string `yaml:"ca"`          // whom to trust; empty: the system's authorities
	Cert       string `yaml:"cert"`        // what to show to a broker that asks, with Key
	Key        string `yaml:"key"`         //
	ServerName string `yaml:"server_name"` // that the certificate must carry; empty: the host dialled
}

// SASL is the login.
type SASL struct {
	Mechanism    string `yaml:"mechanism"` // none, PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512
	Username     string `yaml:"username"`
	Password     Secret `yaml:"password"`
	PasswordFile string `yaml:"password_file"` // instead of Password; a newline at its end is cut
}

// Secret is a text that is not printed.
type Secret string

func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "********"
}

// GoString keeps the secret out of %#v.
func (s Secret) GoString() string { return s.String() }

// MarshalYAML keeps the secret out of a dumped configuration.
func (s Secret) MarshalYAML() (any, error) { return s.String(), nil }

// Topics is what new topics are made with; those that exist keep what they have, but for more partitions
// and room for longer messages.
type Topics struct {
	Replicas       int           `yaml:"replicas"`        // 0: the brokers' default
	Retention      time.Duration `yaml:"retention"`       // how long records are kept
	RetentionBytes int64         `yaml:"retention_bytes"` // of each partition; -1: without bound
}

// DefaultConfig is for one broker on this host.
func DefaultConfig() Config {
	return Config{
		Brokers:         []string{"localhost:9092"},
		TopicPrefix:     "giverny.",
		ClientID:        "giverny",
		SASL:            SASL{Mechanism: "none"},
		Topics:          Topics{Retention: 24 * time.Hour, RetentionBytes: 1 << 30},
		DialTimeout:     5 * time.Second,
		RequestTimeout:  10 * time.Second,
		RetryMin:        100 * time.Millisecond,
		RetryMax:        5 * time.Second,
		MaxMessageBytes: envelope.HeaderBytes + envelope.MaxCompressedBytes,
		MaxQueuedBytes:  64 << 20,
		Consumer:        defaultConsumerConfig(),
		Spool:           defaultSpoolConfig(),
		Embedded:        defaultEmbeddedConfig(),
	}
}

// Topic is the name of the topic that carries a kind of payload.
func (c *Config) Topic(kind envelope.Kind) string { return c.TopicPrefix + kind.String() }

// DeadLetterTopic is the name of the topic of what could not be read.
func (c *Config) DeadLetterTopic() string { return c.TopicPrefix + "deadletter" }

// recordOverhead is more than a record's batch header, key and headers take.
const recordOverhead = 64 << 10

// Validate joins all faults of the configuration.
func (c *Config) Validate() error {
	var faults []error
	require := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf("kafka: "+format, args...))
		}
	}
	require(len(c.Brokers) > 0, "brokers: none given; name at least one as host:port")
	for _, b := range c.Brokers {
		host, port, err := net.SplitHostPort(b)
		require(err == nil && host != "" && port != "", "brokers: %q is not host:port", b)
	}
	require(validTopicPrefix(c.TopicPrefix), "topic_prefix: %q; use letters, digits, dots, hyphens and underscores, up to 200", c.TopicPrefix)
	require(c.DialTimeout > 0, "dial_timeout: %v; want more than 0", c.DialTimeout)
	require(c.RequestTimeout > 0, "request_timeout: %v; want more than 0", c.RequestTimeout)
	require(c.RetryMin > 0 && c.RetryMax >= c.RetryMin, "retry_min, retry_max: %v, %v; want 0 < retry_min <= retry_max", c.RetryMin, c.RetryMax)
	require(c.MaxMessageBytes >= 64<<10 && c.MaxMessageBytes <= 64<<20, "max_message_bytes: %d; want 64 KiB to 64 MiB", c.MaxMessageBytes)
	require(c.MaxQueuedBytes >= c.MaxMessageBytes, "max_queued_bytes: %d; want at least max_message_bytes (%d)", c.MaxQueuedBytes, c.MaxMessageBytes)
	require(c.Topics.Replicas >= 0, "topics.replicas: %d; want 0 for the brokers' default, or more", c.Topics.Replicas)
	require(c.Topics.Retention >= time.Minute, "topics.retention: %v; want at least a minute", c.Topics.Retention)
	require(c.Topics.RetentionBytes == -1 || c.Topics.RetentionBytes >= 1<<20, "topics.retention_bytes: %d; want -1 for no bound, or at least 1 MiB", c.Topics.RetentionBytes)
	require(c.Spool.MaxBytes/segmentsWhole >= int64(c.MaxMessageBytes+1024), "spool.max_bytes: %d; want more than %d times max_message_bytes (%d)", c.Spool.MaxBytes, segmentsWhole, c.MaxMessageBytes)
	faults = append(faults, c.TLS.validate(), c.SASL.validate(), c.Consumer.validate(), c.Spool.validate(), c.Embedded.validate())
	return errors.Join(faults...)
}

func validTopicPrefix(s string) bool {
	return len(s) <= 200 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == "" // Kafka's own rule
}

func (t *TLS) validate() error {
	if !t.Enabled {
		if t.CA != "" || t.Cert != "" || t.Key != "" {
			return errors.New("kafka: tls: certificates are given but tls.enabled is false; set it to true")
		}
		return nil
	}
	if (t.Cert == "") != (t.Key == "") {
		return errors.New("kafka: tls: cert and key belong together; give both or neither")
	}
	return nil
}

func (t *TLS) config() (*tls.Config, error) {
	if !t.Enabled {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CA != "" {
		pem, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, fmt.Errorf("kafka: tls.ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("kafka: tls.ca: %s holds no certificate in PEM form", t.CA)
		}
	}
	if t.Cert != "" {
		pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, fmt.Errorf("kafka: tls.cert, tls.key: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

func (s *SASL) validate() error {
	switch s.Mechanism {
	case "", "none":
		return nil
	case "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512":
	default:
		return fmt.Errorf("kafka: sasl.mechanism: %q; want none, PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512", s.Mechanism)
	}
	if s.Username == "" {
		return fmt.Errorf("kafka: sasl.username: %s needs one", s.Mechanism)
	}
	if (s.Password == "") == (s.PasswordFile == "") {
		return errors.New("kafka: sasl: give password or password_file, and not both")
	}
	return nil
}

func (s *SASL) mechanism() (sasl.Mechanism, error) {
	password := string(s.Password)
	if s.PasswordFile != "" {
		b, err := os.ReadFile(s.PasswordFile)
		if err != nil {
			return nil, fmt.Errorf("kafka: sasl.password_file: %w", err)
		}
		password = strings.TrimRight(string(b), "\r\n")
	}
	switch s.Mechanism {
	case "PLAIN":
		return plain.Mechanism{Username: s.Username, Password: password}, nil
	case "SCRAM-SHA-256":
		return scram.Mechanism(scram.SHA256, s.Username, password)
	case "SCRAM-SHA-512":
		return scram.Mechanism(scram.SHA512, s.Username, password)
	}
	return nil, nil
}
