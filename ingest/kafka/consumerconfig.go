package kafka

import (
	"time"

	"github.com/giverny/giverny/internal/faults"
)

// ConsumerConfig applies to all consumers of a process.
type ConsumerConfig struct {
	// The consumer group.
	Group string `yaml:"group"`
	// Maximum size of one response in bytes. In memory each record of an agent takes 64 KiB of it, so 2 MiB of small ones take 50 MB.
	MaxFetchBytes int `yaml:"max_fetch_bytes"`
	// How long the brokers wait for a record before they send an empty response.
	MaxWait time.Duration `yaml:"max_wait"`
	// How long no record may arrive, while the log grows or requests fail, before all connections are closed and
	// reopened.
	StallTimeout time.Duration `yaml:"stall_timeout"`
	// Share the fabrics with the other analysers of this group: each fabric has one owner, and the others stand by. All analysers of the
	// group must have the same setting; false is for a single analyser. An embedded broker always has a single analyser.
	Share bool `yaml:"share"`
	// How long an analyser may be silent before the others of its group take over its fabrics. Brokers reject values
	// below their group.min.session.timeout.ms, 6 s by default.
	SessionTimeout time.Duration `yaml:"session_timeout"`
}

func defaultConsumerConfig() ConsumerConfig {
	return ConsumerConfig{Group: "giverny", MaxFetchBytes: 2 << 20, MaxWait: 250 * time.Millisecond, StallTimeout: 15 * time.Second, Share: true, SessionTimeout: 6 * time.Second}
}

func (c *ConsumerConfig) validate() error {
	var f faults.List
	f.Check(c.Group != "", "group", "empty; give the consumer group under which offsets are stored")
	f.Check(c.MaxFetchBytes >= 64<<10 && c.MaxFetchBytes <= 1<<30, "max_fetch_bytes", "%d: want 64 KiB to 1 GiB", c.MaxFetchBytes)
	f.Check(c.MaxWait > 0 && c.MaxWait <= 5*time.Second, "max_wait", "%v: want more than 0, up to 5 s", c.MaxWait)
	f.Check(c.StallTimeout > c.MaxWait, "stall_timeout", "%v: want more than max_wait (%v)", c.StallTimeout, c.MaxWait)
	f.Check(c.SessionTimeout >= time.Second && c.SessionTimeout <= 5*time.Minute, "session_timeout", "%v: want 1 s to 5 min", c.SessionTimeout)
	return f.Err()
}
