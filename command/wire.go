package command

import (
	"encoding/json"
	"fmt"
	"regexp"
	"unicode/utf8"

	"github.com/giverny/giverny/command/safety"
	"github.com/giverny/giverny/schema"
)

// Size limits of a command.
const (
	MaxIDBytes       = 64
	maxNameBytes     = 160 // of principals, kinds, targets, agents
	MaxTargets       = 256
	MaxArgumentBytes = 64 << 10
	MaxOutputBytes   = 192 << 10 // of an answer
)

// word is the format of ids, principals and kinds: safe in logs, paths and labels.
var word = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// canonical is the form of a command that is signed: Go's JSON encoding, without spaces and with the fields in the
// order of schema.Command.
func canonical(c *schema.Command) ([]byte, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode command %s: %w", c.ID, err)
	}
	return text, nil
}

// Check validates the fields of a command, except its signature.
func Check(c *schema.Command) error {
	switch {
	case len(c.ID) > MaxIDBytes || !word.MatchString(c.ID):
		return fmt.Errorf("command: id %.80q: want letters, digits, dots, hyphens and underscores, up to %d", c.ID, MaxIDBytes)
	case !isName(c.Fabric):
		return fmt.Errorf("command %s: fabric %.200q: want 1 to %d bytes of UTF-8", c.ID, c.Fabric, maxNameBytes)
	case len(c.Kind) > maxNameBytes || !word.MatchString(c.Kind):
		return fmt.Errorf("command %s: kind %.200q: want a word such as agents.list", c.ID, c.Kind)
	case len(c.Principal) > maxNameBytes || !word.MatchString(c.Principal):
		return fmt.Errorf("command %s: principal %.200q: want a word such as operator", c.ID, c.Principal)
	case len(c.Targets) == 0 || len(c.Targets) > MaxTargets:
		return fmt.Errorf("command %s: %d targets: want 1 to %d; * is all agents", c.ID, len(c.Targets), MaxTargets)
	case len(c.Arguments) > MaxArgumentBytes:
		return fmt.Errorf("command %s: arguments of %d bytes: want up to %d", c.ID, len(c.Arguments), MaxArgumentBytes)
	case len(c.Arguments) > 0 && c.Arguments[0] != '{':
		return fmt.Errorf("command %s: arguments are not a JSON object", c.ID)
	case c.Issued <= 0 || c.Expires <= c.Issued:
		return fmt.Errorf("command %s: issued %v, expires %v: want the one before the other", c.ID, c.Issued, c.Expires)
	}
	for _, t := range c.Targets {
		if !isName(t) || !safety.ValidPattern(t) {
			return fmt.Errorf("command %s: target %.200q: want a name, or a pattern such as gpu-*", c.ID, t)
		}
	}
	return nil
}

func isName(s string) bool { return s != "" && len(s) <= maxNameBytes && utf8.ValidString(s) }

// checkResult validates the fields of a result.
func checkResult(r *schema.CommandResult) error {
	switch {
	case len(r.CommandID) > MaxIDBytes || !word.MatchString(r.CommandID):
		return fmt.Errorf("command result: command_id %.80q: want letters, digits, dots, hyphens and underscores, up to %d", r.CommandID, MaxIDBytes)
	case !isName(r.Fabric) || !isName(r.Agent):
		return fmt.Errorf("result of command %s: fabric %.200q, agent %.200q: want 1 to %d bytes of UTF-8 each", r.CommandID, r.Fabric, r.Agent, maxNameBytes)
	case !r.Status.Valid():
		return fmt.Errorf("result of command %s: status %.40q is unknown", r.CommandID, r.Status)
	}
	return nil
}
