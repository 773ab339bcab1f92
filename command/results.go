package command

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/giverny/giverny/command/safety"
	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/schema"
)

// ResultsConfig says how this host's agent signs results, and which agents' results are accepted.
type ResultsConfig struct {
	// On an agent: the file with the private key that signs its results, made by giverny agents key. Empty: its results are not signed.
	KeyFile string `yaml:"key_file"`
	// On analysers and on hosts that send commands: the public keys of agents. As soon as one entry is listed, a result is refused unless it is signed with a key of its agent.
	Agents []AgentKeys `yaml:"agents"`
	// What happens to results of agents that no entry matches: refuse, or accept while keys are rolled out host by host.
	Unlisted string `yaml:"unlisted"`
}

// AgentKeys are the public keys of one or more agents.
type AgentKeys struct {
	// Name of an agent, or a pattern such as gpu-*. For an agent with an entry of its exact name only that entry counts.
	Name string `yaml:"name"`
	// Its public keys, as printed by giverny agents key; several during key rotation.
	Keys []string `yaml:"keys"`
}

// Values of unlisted.
const (
	RefuseUnlisted = "refuse"
	AcceptUnlisted = "accept"
)

func (c *ResultsConfig) validate() error {
	var l faults.List
	names := map[string]bool{}
	for i, a := range c.Agents {
		key := fmt.Sprintf("agents.%d", i)
		l.Check(isName(a.Name) && safety.ValidPattern(a.Name), key+".name", "%.200q: want the name of an agent, or a pattern such as gpu-*", a.Name)
		l.Check(!names[a.Name], key+".name", "%q is duplicated; give one entry several keys", a.Name)
		names[a.Name] = true
		checkKeys(&l, key+".keys", a.Keys)
	}
	l.Check(c.Unlisted == RefuseUnlisted || c.Unlisted == AcceptUnlisted, "unlisted", "%q: want refuse or accept", c.Unlisted)
	return l.Err()
}

// Reasons for refusing a result, in addition to BadSignature.
const (
	Unsigned     safety.Reason = "unsigned"      // from an agent with known keys
	UnknownAgent safety.Reason = "unknown_agent" // no key of the agent is known
)

// ResultReasons lists the reasons for which a Verifier refuses results.
func ResultReasons() []safety.Reason { return []safety.Reason{Unsigned, BadSignature, UnknownAgent} }

// resultDomain begins the signed text of results, so that a command's signature is not valid for a result.
const resultDomain = "giverny.result.v1\n"

func signedResult(r *schema.CommandResult) ([]byte, error) {
	bare := *r
	bare.Signature = nil
	text, err := json.Marshal(&bare)
	if err != nil {
		return nil, fmt.Errorf("encode the result of command %s: %w", r.CommandID, err)
	}
	return append([]byte(resultDomain), text...), nil
}

// SignResult returns the result signed by the signer, who must be its agent.
func (s *Signer) SignResult(r schema.CommandResult) (schema.CommandResult, error) {
	if r.Agent != s.name {
		return r, fmt.Errorf("result of agent %q: the key belongs to agent %q", r.Agent, s.name)
	}
	text, err := signedResult(&r)
	if err != nil {
		return r, err
	}
	r.Signature = ed25519.Sign(s.key, text)
	return r, nil
}

// Verifier decides which results of agents are accepted.
type Verifier struct {
	byName         map[string][]ed25519.PublicKey
	patterns       []patternKeys
	acceptUnlisted bool
}

type patternKeys struct {
	pattern []string // one
	keys    []ed25519.PublicKey
}

// NewVerifier returns the verifier for a valid configuration.
func NewVerifier(cfg ResultsConfig) (*Verifier, error) {
	v := &Verifier{byName: map[string][]ed25519.PublicKey{}, acceptUnlisted: cfg.Unlisted == AcceptUnlisted || len(cfg.Agents) == 0}
	for _, a := range cfg.Agents {
		var keys []ed25519.PublicKey
		for _, text := range a.Keys {
			key, err := parsePublic(text)
			if err != nil {
				return nil, fmt.Errorf("key of agent %q: %w", a.Name, err)
			}
			keys = append(keys, key)
		}
		if strings.ContainsAny(a.Name, `*?[\`) {
			v.patterns = append(v.patterns, patternKeys{[]string{a.Name}, keys})
		} else {
			v.byName[a.Name] = keys
		}
	}
	return v, nil
}

// Knows reports whether the keys of any agent are listed.
func (v *Verifier) Knows() bool { return len(v.byName)+len(v.patterns) > 0 }

func (v *Verifier) keysOf(agent string) []ed25519.PublicKey {
	if keys := v.byName[agent]; keys != nil {
		return keys
	}
	var keys []ed25519.PublicKey
	for _, p := range v.patterns {
		if safety.Matches(p.pattern, agent) {
			keys = append(keys, p.keys...)
		}
	}
	return keys
}

// Verify returns why a result is refused, or nil. verified reports whether an accepted result's signature was
// checked; it is not if no key of its agent is known and such agents are accepted.
func (v *Verifier) Verify(r *schema.CommandResult) (verified bool, no *safety.Refusal) {
	keys := v.keysOf(r.Agent)
	if len(keys) == 0 {
		if v.acceptUnlisted {
			return false, nil
		}
		return false, safety.Refuse(UnknownAgent, "no key of agent %q is known here; add it to command.results.agents", r.Agent)
	}
	if len(r.Signature) == 0 {
		return false, safety.Refuse(Unsigned, "agent %q did not sign it; set command.results.key_file there", r.Agent)
	}
	text, err := signedResult(r)
	if err != nil {
		return false, safety.Refuse(BadSignature, "%v", err)
	}
	if !slices.ContainsFunc(keys, func(key ed25519.PublicKey) bool { return ed25519.Verify(key, text, r.Signature) }) {
		return false, safety.Refuse(BadSignature, "the signature matches none of the %d known keys of agent %q; the result was modified, or command.results.agents lacks the key", len(keys), r.Agent)
	}
	return true, nil
}

// Output encodes a value as the output of an answer; an error if it is too large.
func Output(v any) (json.RawMessage, error) {
	text, err := json.Marshal(v)
	if err == nil && len(text) > MaxOutputBytes {
		err = fmt.Errorf("command: output of %d bytes: an answer has at most %d", len(text), MaxOutputBytes)
	}
	return text, err
}

// Publisher sends the results of one agent.
type Publisher struct {
	Sink   Sink
	Signer *Signer // nil: results are not signed
}

// Publish signs and sends a result: the answer to a command, or an agent's own report, which is audited and stored in
// the same way under an id that no command has.
func (p Publisher) Publish(ctx context.Context, partition int, r *schema.CommandResult) error {
	if err := checkResult(r); err != nil {
		return err
	}
	result := *r
	if p.Signer != nil {
		var err error
		if result, err = p.Signer.SignResult(result); err != nil {
			return err
		}
	}
	var encoder envelope.Encoder
	payload, err := encoder.Results(nil, []schema.CommandResult{result})
	if err != nil {
		return err
	}
	return p.Sink.Produce(ctx, kafka.Record{Fabric: r.Fabric, Partition: partition, Kind: envelope.Results, Payload: payload})
}
