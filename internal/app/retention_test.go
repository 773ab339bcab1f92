package app

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/test/journal"
	"github.com/giverny/giverny/topology/topologytest"
)

// The limits on what Kafka keeps are compared with what late readings need: for 11,664 hosts the default of the embedded
// broker is half an hour.
func TestAShortRetentionIsWarnedOf(t *testing.T) {
	for name, c := range map[string]struct {
		topology string
		edit     func(*config.Config)
		says     string
	}{
		"a small fabric":  {"fattree:k=4", func(*config.Config) {}, ""},
		"a huge limit":    {"fattree:k=4", func(c *config.Config) { c.Kafka.Broker.RetentionBytes = 1 << 60 }, ""},
		"ten thousand":    {"fattree:k=36", func(*config.Config) {}, "estimate=30m0s"},
		"with more room":  {"fattree:k=36", func(c *config.Config) { c.Kafka.Broker.RetentionBytes = 4 << 30 }, ""},
		"without a limit": {"fattree:k=36", func(c *config.Config) { c.Kafka.Broker.RetentionBytes = -1 }, ""},
		"brokers":         {"fattree:k=36", func(c *config.Config) { c.Kafka.Embedded = false }, ""},
		"too short":       {"fattree:k=4", func(c *config.Config) { c.Kafka.Client.Retention = time.Hour }, "kafka.retention is shorter"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, f := config.Default(), config.DefaultFabric()
			f.Name, f.Topology = "f", c.topology
			c.edit(&cfg)
			g := topologytest.Parse(t, "f", c.topology)
			log := &journal.Journal{}
			New(cfg, "test", slog.New(slog.NewTextHandler(log, nil))).warnOfRetention([]Fabric{{Fabric: f, Graph: g}})
			if text := log.String(); (text == "") != (c.says == "") || !strings.Contains(text, c.says) {
				t.Errorf("want %q:\n%s", c.says, text)
			}
		})
	}
}
