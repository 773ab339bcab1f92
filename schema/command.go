package schema

import "encoding/json"

// Command is an order to agents. Who takes it checks the signature, the expiry,
// the targets and its own allow-list, in this order, and answers with a
// CommandResult. In JSON its fields stand in this order, without spaces: the
// signature is over that text without the signature itself.
type Command struct {
	ID        string          `json:"id"` // unique; an agent carries an id out once
	Fabric    string          `json:"fabric"`
	Kind      string          `json:"kind"`    // agents.list, agents.refresh, ...
	Targets   []string        `json:"targets"` // patterns of agents' names; "*" is all, none is no agent
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Issued    Instant         `json:"issued"`
	Expires   Instant         `json:"expires"`
	Principal string          `json:"principal"` // who gives the order
	DryRun    bool            `json:"dry_run,omitempty"`
	Signature []byte          `json:"signature,omitempty"` // over all the rest
}

// CommandStatus is how far an agent is with a command.
type CommandStatus string

// Statuses. All but CommandAccepted and CommandProgress are final.
const (
	CommandAccepted  CommandStatus = "accepted" // and begun
	CommandProgress  CommandStatus = "progress" // what there is so far, by Sequence
	CommandDone      CommandStatus = "done"
	CommandFailed    CommandStatus = "failed"
	CommandRefused   CommandStatus = "refused" // not allowed, not valid or over a limit; the reason says which
	CommandExpired   CommandStatus = "expired"
	CommandCancelled CommandStatus = "cancelled"
)

// Valid says that the status is one of these.
func (s CommandStatus) Valid() bool {
	return s == CommandAccepted || s == CommandProgress || s.Final()
}

// Final says that no other status follows.
func (s CommandStatus) Final() bool {
	switch s {
	case CommandDone, CommandFailed, CommandRefused, CommandExpired, CommandCancelled:
		return true
	}
	return false
}

// CommandResult is what an agent answers; its key is (command, agent, status, sequence).
type CommandResult struct {
	CommandID string          `json:"command_id"`
	Fabric    string          `json:"fabric"`
	Agent     string          `json:"agent"`
	Time      Instant         `json:"time"`
	Status    CommandStatus   `json:"status"`
	Kind      string          `json:"kind,omitempty"`     // of the command; empty from older agents
	Sequence  uint32          `json:"sequence,omitempty"` // of progress, from 1; 0 of all else
	Reason    string          `json:"reason,omitempty"`   // for a person, where it is not done
	Output    json.RawMessage `json:"output,omitempty"`
	Signature []byte          `json:"signature,omitempty"` // of the agent; empty if it has no key

	// Set by the audit, never by the agent: Verified, or NotVerified where no key of the agent is known; empty in what
	// was stored before that was kept.
	Verified string `json:"-"`
}

// KindAgentsList is the kind by which agents say who they are.
const KindAgentsList = "agents.list"

// What the audit says of the signature of a command or a result; of a command else why it is not valid.
const (
	Verified    = "valid"
	NotVerified = "no keys" // it has no keys to tell by
)

// SeenCommand is a command as the audit saw it pass.
type SeenCommand struct {
	Command
	Seen     Instant `json:"seen"`     // when it was put into Kafka
	Verified string  `json:"verified"` // Verified, NotVerified, or why its signature is not valid
}
