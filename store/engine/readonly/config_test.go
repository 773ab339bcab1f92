package readonly

import (
	"strings"
	"testing"
)

func TestConfig(t *testing.T) {
	for _, c := range []struct {
		change func(*Config)
		want   string
	}{
		{func(*Config) {}, ""},
		{func(c *Config) { c.Listen = "127.0.0.1:8123" }, ""},
		{func(c *Config) { c.Listen = "[::1]:8123" }, ""},
		{func(c *Config) { c.Listen = "8123" }, "want an address"},
		{func(c *Config) { c.Listen = ":8123" }, "set a password"},
		{func(c *Config) { c.Listen = "0.0.0.0:8123"; c.PasswordFile = "x" }, "name a certificate"},
		{func(c *Config) { c.Listen, c.PasswordFile, c.TLS.Cert, c.TLS.Key = "10.0.0.1:8123", "x", "c", "k" }, ""},
		{func(c *Config) { c.TLS.Cert = "c" }, "tls"},
		{func(c *Config) { c.Timeout, c.MaxQueries = 0, 0 }, "max_queries"},
	} {
		cfg := DefaultConfig()
		c.change(&cfg)
		if err := cfg.Validate(); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", cfg, err, c.want)
		}
	}
}
