package kafka_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.yaml.in/yaml/v3"

	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/ingest/spool"
	"github.com/giverny/giverny/internal/secret"
	"github.com/giverny/giverny/internal/test/metric"
)

func TestDefaultConfigIsValid(t *testing.T) {
	c := kafka.DefaultConfig()
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	if c.Topic(envelope.Counters) != "giverny.counters" || c.DeadLetterTopic() != "giverny.deadletter" {
		t.Errorf("topics %s, %s", c.Topic(envelope.Counters), c.DeadLetterTopic())
	}
}

func TestValidateNamesEveryFault(t *testing.T) {
	for _, c := range []struct {
		change func(c *kafka.Config)
		want   string
	}{
		{func(c *kafka.Config) { c.Brokers = nil }, "brokers: none given"},
		{func(c *kafka.Config) { c.Brokers = []string{"broker1"} }, `brokers: "broker1" is not host:port`},
		{func(c *kafka.Config) { c.TopicPrefix = "a b" }, "topic_prefix"},
		{func(c *kafka.Config) { c.DialTimeout = 0 }, "dial_timeout"},
		{func(c *kafka.Config) { c.RequestTimeout = -1 }, "request_timeout"},
		{func(c *kafka.Config) { c.RequestTimeout = time.Minute }, "request_timeout: 1m0s: want more than 0, up to 15s"},
		{func(c *kafka.Config) { c.RetryMax = 1 }, "retry_max: 1ns"},
		{func(c *kafka.Config) { c.Producer.MaxMessageBytes = 1 }, "producer.max_message_bytes: 1"},
		{func(c *kafka.Config) { c.Producer.MaxQueuedBytes = 1 }, "producer.max_queued_bytes: 1"},
		{func(c *kafka.Config) { c.Replication = -2 }, "replication: -2"},
		{func(c *kafka.Config) { c.Retention = 0 }, "retention: 0s"},
		{func(c *kafka.Config) { c.RetentionBytes = 5 }, "retention_bytes: 5"},
		{func(c *kafka.Config) { c.TLS.CA = "ca.pem" }, "tls.enabled: false"},
		{func(c *kafka.Config) { c.TLS = kafka.TLS{Enabled: true, Cert: "c.pem"} }, "tls.key: empty"},
		{func(c *kafka.Config) { c.SASL.Mechanism = "GSSAPI" }, "sasl.mechanism"},
		{func(c *kafka.Config) { c.SASL.Mechanism = "PLAIN" }, "sasl.user"},
		{func(c *kafka.Config) { c.SASL = kafka.SASL{Mechanism: "PLAIN", User: "u"} }, "sasl.password: give either this or password_file"},
		{func(c *kafka.Config) {
			c.SASL = kafka.SASL{Mechanism: "PLAIN", User: "u", Password: secret.NewText("p"), PasswordFile: "f"}
		}, "sasl.password: give either"},
		{func(c *kafka.Config) { c.Consumer.Group = "" }, "consumer.group"},
		{func(c *kafka.Config) { c.Consumer.MaxFetchBytes = 0 }, "consumer.max_fetch_bytes"},
		{func(c *kafka.Config) { c.Consumer.MaxWait = time.Minute }, "consumer.max_wait"},
		{func(c *kafka.Config) { c.Consumer.StallTimeout = 1 }, "consumer.stall_timeout"},
		{func(c *kafka.Config) { c.Producer.SpoolAfter = 0 }, "producer.spool_after: 0s"},
	} {
		config := kafka.DefaultConfig()
		c.change(&config)
		config.ClientID = "" // allowed
		err := config.Validate()
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("want %q before: %v", c.want, err)
		}
	}
	var nothing kafka.Config
	if err := nothing.Validate(); strings.Count(err.Error(), "\n") < 10 {
		t.Errorf("an empty configuration has more faults than: %v", err)
	}
}

func TestSecretsAreNotPrinted(t *testing.T) {
	config := kafka.DefaultConfig()
	if err := yaml.Unmarshal([]byte("sasl: {mechanism: PLAIN, user: u, password: lily}\nretry_max: 3s\nbrokers: [\"b:1\"]"), &config); err != nil {
		t.Fatal(err)
	}
	if config.SASL.Password.Reveal() != "lily" || config.RetryMax != 3*time.Second || config.Brokers[0] != "b:1" {
		t.Errorf("read %+v", config)
	}
	dumped, err := yaml.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{string(dumped), fmt.Sprintf("%v %+v %#v %s", config, config, config, config.SASL.Password)} {
		if strings.Contains(text, "lily") {
			t.Errorf("the password stands in %s", text)
		}
	}
}

func TestNewClientReadsFiles(t *testing.T) {
	metrics, err := kafka.NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		change func(c *kafka.Config)
		want   string
	}{
		{func(c *kafka.Config) { c.Brokers = nil }, "brokers"},
		{func(c *kafka.Config) { c.TLS = kafka.TLS{Enabled: true, CA: "missing.pem"} }, "tls.ca"},
		{func(c *kafka.Config) { c.TLS = kafka.TLS{Enabled: true, CA: text} }, "holds no certificate"},
		{func(c *kafka.Config) { c.TLS = kafka.TLS{Enabled: true, Cert: text, Key: text} }, "tls.cert, key"},
		{func(c *kafka.Config) {
			c.SASL = kafka.SASL{Mechanism: "PLAIN", User: "u", PasswordFile: "missing"}
		}, "sasl.password_file"},
	} {
		config := kafka.DefaultConfig()
		c.change(&config)
		if _, err := kafka.NewClient(config, nil, metrics, quiet()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %q in: %v", c.want, err)
		}
	}
}

// All drops, losses and retries are visible before they happen.
func TestReasonsStandAtZero(t *testing.T) {
	reg := prometheus.NewRegistry()
	if _, err := kafka.NewMetrics(reg); err != nil {
		t.Fatal(err)
	}
	p := &peer{metrics: reg}
	for name, reasons := range map[string][]string{
		"giverny_kafka_produce_retries_total": {"network", "broker"},
		"giverny_kafka_produce_dropped_total": {"too_large", "refused", "abandoned"},
		"giverny_kafka_lost_records_total":    {"offset_gap", "offset_out_of_range", "corrupt_batch"},
		"giverny_kafka_dead_letters_total":    {"wrong_fabric", "wrong_kind", "rejected", "bad_crc", "bad_rows", "truncated"},
		"giverny_kafka_reconnects_total":      {"stalled", "errors"},
	} {
		for _, reason := range reasons {
			if got := metric.Sum(t, p.metrics, name, reason); got != 0 {
				t.Errorf("%s{reason=%q} = %v", name, reason, got)
			}
		}
	}
	if _, err := kafka.NewMetrics(reg); err == nil {
		t.Error("the same metrics were registered twice")
	}
}

// Every record of a producer must fit in its spool.
func TestCheckSpool(t *testing.T) {
	config, queue := kafka.DefaultConfig(), spool.DefaultConfig()
	if err := kafka.CheckSpool(config, queue); err != nil {
		t.Error(err)
	}
	config.Producer.MaxMessageBytes, queue.MaxBytes = 8<<20, 64<<20
	if err := kafka.CheckSpool(config, queue); err == nil || !strings.HasPrefix(err.Error(), "spool.max_bytes: 67108864 holds") {
		t.Errorf("records that do not fit: %v", err)
	}
}
