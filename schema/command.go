package schema

import "encoding/json"

// Command is a command to agents. An agent checks the signature, the expiry,
// the targets and its own allow-list, in this order, and answers with a
// CommandResult. Its canonical JSON has the fields in this order, without
// spaces: the signature is over that text without the signature itself.
type Command struct {
	ID        string          `json:"id"` // unique; an agent executes an id only once
	Fabric    string          `json:"fabric"`
	Kind      string          `json:"kind"`    // agents.list, agents.refresh, ...
	Targets   []string        `json:"targets"` // patterns of agents' names; "*" means all, none means no agent
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Issued    Instant         `json:"issued"`
	Expires   Instant         `json:"expires"`
	Principal string          `json:"principal"` // who issued the command
	DryRun    bool            `json:"dry_run,omitempty"`
	Signature []byte          `json:"signature,omitempty"` // over all other fields
}

// CommandStatus is an agent's progress with a command.
type CommandStatus string

// Statuses. All but CommandAccepted and CommandProgress are final.
const (
	CommandAccepted  CommandStatus = "accepted" // and started
	CommandProgress  CommandStatus = "progress" // partial results, by Sequence
	CommandDone      CommandStatus = "done"
	CommandFailed    CommandStatus = "failed"
	CommandRefused   CommandStatus = "refused" // not allowed, invalid or over a limit; the reason says which
	CommandExpired   CommandStatus = "expired"
	CommandCancelled CommandStatus = "cancelled"
)

// Valid reports whether s is one of these.
func (s CommandStatus) Valid() bool {
	return s == CommandAccepted || s == CommandProgress || s.Final()
}

// Final reports whether no other status follows.
func (s CommandStatus) Final() bool {
	switch s {
	case CommandDone, CommandFailed, CommandRefused, CommandExpired, CommandCancelled:
		return true
	}
	return false
}

// CommandResult is an agent's answer; its key is (command, agent, status, sequence).
type CommandResult struct {
	CommandID string          `json:"command_id"`
	Fabric    string          `json:"fabric"`
	Agent     string          `json:"agent"`
	Time      Instant         `json:"time"`
	Status    CommandStatus   `json:"status"`
	Kind      string          `json:"kind,omitempty"`     // of the command; empty from older agents
	Sequence  uint32          `json:"sequence,omitempty"` // of progress, from 1; otherwise 0
	Reason    string          `json:"reason,omitempty"`   // human-readable, if it is not done
	Output    json.RawMessage `json:"output,omitempty"`
	Signature []byte          `json:"signature,omitempty"` // by the agent; empty if it has no key

	// Set by the audit, never by the agent: Verified, or NotVerified if no key of the agent is known; empty in older
	// stored results.
	Verified string `json:"-"`
}

// KindAgentsList is the kind of commands to which agents answer with who they are.
const KindAgentsList = "agents.list"

// The audit's results for the signature of a command or result. For a command it may also be the reason why it is invalid.
const (
	Verified    = "valid"
	NotVerified = "no keys" // the audit has no keys to verify with
)

// SeenCommand is a command as seen by the audit.
type SeenCommand struct {
	Command
	Seen     Instant `json:"seen"`     // when it was sent to Kafka
	Verified string  `json:"verified"` // Verified, NotVerified, or why its signature is invalid
}
