package command

import (
	"fmt"
	"time"

	"github.com/giverny/giverny/command/safety"
	"github.com/giverny/giverny/internal/faults"
)

// Config says whose commands an agent accepts, and as whom this process sends commands. Without principals an agent
// accepts none and does not read the topic.
type Config struct {
	// Whose commands are accepted; none: the agent accepts no commands and does not listen for any. Principals in this list may list and refresh agents and cancel commands; everything else must be allowed.
	Principals []Principal `yaml:"principals"`
	// What is allowed, and within which limits.
	safety.Config `yaml:",inline"`
	// Maximum difference between the clocks of the sender and the receiver of a command.
	ClockTolerance time.Duration `yaml:"clock_tolerance"`
	// Maximum validity of a command.
	MaxValidity time.Duration `yaml:"max_validity"`
	// A command that acts is stopped after Kafka has been unreachable for this long, because it could no longer be cancelled.
	StopWithoutKafka time.Duration `yaml:"stop_without_kafka"`
	// How an agent knows whether its host is out of use, for rules with require_drained: slurm queries Slurm, as configured in feedback.slurm, for the node with the agent's name. Empty: it does not know, and refuses.
	DrainedBy string `yaml:"drained_by"`
	// The principal as which this process sends commands.
	Sign Sign `yaml:"sign"`
	// How results of agents are signed, and which ones are accepted.
	Results ResultsConfig `yaml:"results"`
}

// Principal may give commands: a person, a role, a service.
type Principal struct {
	// Name of the principal.
	Name string `yaml:"name"`
	// Its public keys, as printed by giverny agents key; several during key rotation.
	Keys []string `yaml:"keys"`
}

// Sign says with which key commands are signed.
type Sign struct {
	// Name of the principal.
	Principal string `yaml:"principal"`
	// The file with its private key, made by giverny agents key.
	KeyFile string `yaml:"key_file"`
}

// DrainedBySlurm is the only non-empty value of drained_by.
const DrainedBySlurm = "slurm"

// DefaultConfig accepts no commands.
func DefaultConfig() Config {
	return Config{Config: safety.DefaultConfig(), ClockTolerance: 10 * time.Second, MaxValidity: 10 * time.Minute, StopWithoutKafka: time.Minute,
		Results: ResultsConfig{Unlisted: RefuseUnlisted}}
}

// Enabled reports whether an agent accepts commands.
func (c *Config) Enabled() bool { return len(c.Principals) > 0 }

// Validate joins all errors; each begins with the key.
func (c *Config) Validate() error {
	var l faults.List
	l.Under("", c.Config.Validate())
	names := map[string]bool{}
	for i, p := range c.Principals {
		key := fmt.Sprintf("principals.%d", i)
		l.Check(len(p.Name) <= maxNameBytes && word.MatchString(p.Name), key+".name", "%q: want letters, digits, dots, hyphens and underscores", p.Name)
		l.Check(!names[p.Name], key+".name", "%q is duplicated; give one entry several keys", p.Name)
		names[p.Name] = true
		checkKeys(&l, key+".keys", p.Keys)
	}
	l.Check(len(c.Allow) == 0 || len(c.Principals) > 0, "allow", "rules without principals allow nothing; list the accepted senders under principals")
	l.Check(c.ClockTolerance >= 0 && c.ClockTolerance <= time.Hour, "clock_tolerance", "%v: want 0s to 1h", c.ClockTolerance)
	l.Check(c.MaxValidity >= time.Second && c.MaxValidity <= 24*time.Hour, "max_validity", "%v: want 1s to 24h", c.MaxValidity)
	l.Check(c.DrainedBy == "" || c.DrainedBy == DrainedBySlurm, "drained_by", "%q: want slurm, or nothing", c.DrainedBy)
	l.Check(c.StopWithoutKafka >= time.Second && c.StopWithoutKafka <= time.Hour, "stop_without_kafka", "%v: want 1s to 1h", c.StopWithoutKafka)
	l.Check((c.Sign.Principal == "") == (c.Sign.KeyFile == ""), "sign", "principal and key_file must be set together")
	l.Under("results", c.Results.validate())
	return l.Err()
}

// checkKeys validates a list of public keys at a key of the configuration.
func checkKeys(l *faults.List, key string, keys []string) {
	l.Check(len(keys) > 0, key, "empty; giverny agents key makes one")
	for i, k := range keys {
		if _, err := parsePublic(k); err != nil {
			l.Add(fmt.Sprintf("%s.%d", key, i), "%v", err)
		}
	}
}
