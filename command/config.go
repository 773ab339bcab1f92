package command

import (
	"errors"
	"fmt"
	"time"

	"github.com/giverny/giverny/command/safety"
)

// Config says whose orders an agent takes, and in whose name this process gives some. Without principals an
// agent takes no order and does not read the topic.
type Config struct {
	// Whose commands are accepted; none: the agent accepts no commands and does not listen for any. Principals in this list may list and refresh agents and cancel commands; everything else must be allowed.
	Principals []Principal `yaml:"principals"`
	// What is allowed, and how much of it.
	safety.Config `yaml:",inline"`
	// Maximum difference between the clocks of the sender and the receiver of a command.
	ClockTolerance time.Duration `yaml:"clock_tolerance"`
	// The longest time for which a command may be valid.
	MaxValidity time.Duration `yaml:"max_validity"`
	// A command that acts is stopped after Kafka has been unreachable for this long, because it could no longer be cancelled.
	StopWithoutKafka time.Duration `yaml:"stop_without_kafka"`
	// How an agent knows whether its host is out of use, for rules with require_drained: slurm asks Slurm, in the way that feedback.slurm says, for the node of the agent's name. Empty: it does not, and refuses.
	DrainedBy string `yaml:"drained_by"`
	// The principal as which this process sends commands.
	Sign Sign `yaml:"sign"`
}

// Principal is who may give commands: a person, a role, a service.
type Principal struct {
	// Name of the principal.
	Name string `yaml:"name"`
	// Its public keys, as giverny agents key prints them; several while keys are changed.
	Keys []string `yaml:"keys"`
}

// Sign says with which key commands are signed.
type Sign struct {
	// Name of the principal.
	Principal string `yaml:"principal"`
	// The file with its private key, made by giverny agents key.
	KeyFile string `yaml:"key_file"`
}

// DrainedBySlurm is the only value of drained_by but none.
const DrainedBySlurm = "slurm"

// DefaultConfig takes no orders.
func DefaultConfig() Config {
	return Config{Config: safety.DefaultConfig(), ClockTolerance: 10 * time.Second, MaxValidity: 10 * time.Minute, StopWithoutKafka: time.Minute}
}

// Enabled says whether an agent takes orders.
func (c *Config) Enabled() bool { return len(c.Principals) > 0 }

// Validate joins all faults; each begins with the key.
func (c *Config) Validate() error {
	faults := []error{c.Config.Validate()}
	names := map[string]bool{}
	for i, p := range c.Principals {
		key := fmt.Sprintf("principals.%d", i)
		if len(p.Name) > MaxNameBytes || !word.MatchString(p.Name) {
			faults = append(faults, fmt.Errorf("%s.name: %q; want letters, digits, dots, hyphens and underscores", key, p.Name))
		}
		if names[p.Name] {
			faults = append(faults, fmt.Errorf("%s.name: %q is duplicated; give one entry several keys", key, p.Name))
		}
		names[p.Name] = true
		if len(p.Keys) == 0 {
			faults = append(faults, fmt.Errorf("%s.keys: empty; giverny agents key makes one", key))
		}
		for j, k := range p.Keys {
			if _, err := parsePublic(k); err != nil {
				faults = append(faults, fmt.Errorf("%s.keys.%d: %w", key, j, err))
			}
		}
	}
	if len(c.Allow) > 0 && len(c.Principals) == 0 {
		faults = append(faults, errors.New("allow: rules without principals allow nothing; list whose commands are taken under principals"))
	}
	if c.ClockTolerance < 0 || c.ClockTolerance > time.Hour {
		faults = append(faults, fmt.Errorf("clock_tolerance: %v; want 0s to 1h", c.ClockTolerance))
	}
	if c.MaxValidity < time.Second || c.MaxValidity > 24*time.Hour {
		faults = append(faults, fmt.Errorf("max_validity: %v; want 1s to 24h", c.MaxValidity))
	}
	if c.DrainedBy != "" && c.DrainedBy != DrainedBySlurm {
		faults = append(faults, fmt.Errorf("drained_by: %q; want slurm, or nothing", c.DrainedBy))
	}
	if c.StopWithoutKafka < time.Second || c.StopWithoutKafka > time.Hour {
		faults = append(faults, fmt.Errorf("stop_without_kafka: %v; want 1s to 1h", c.StopWithoutKafka))
	}
	if (c.Sign.Principal == "") != (c.Sign.KeyFile == "") {
		faults = append(faults, errors.New("sign: principal and key_file belong together; give both or neither"))
	}
	return errors.Join(faults...)
}
