package command_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/command/safety"
	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/internal/test/journal"
	"github.com/giverny/giverny/schema"
)

func verifier(cfg command.ResultsConfig) *command.Verifier {
	v, err := command.NewVerifier(cfg)
	if err != nil {
		panic(err) // the test's own keys
	}
	return v
}

// listed has the keys of gpu-1 and of all agents of rack 7.
func listed(unlisted string) command.ResultsConfig {
	return command.ResultsConfig{Unlisted: unlisted, Agents: []command.AgentKeys{
		{Name: "gpu-1", Keys: []string{public("gpu-1"), public("gpu-1-next")}},
		{Name: "r7-*", Keys: []string{public("r7")}},
		{Name: "r7-9", Keys: []string{public("r7-9")}},
	}}
}

func result(agent string) schema.CommandResult {
	return schema.CommandResult{CommandID: "A1", Fabric: "rail<0>", Agent: agent, Time: 1767571200000000001, Status: schema.CommandDone, Kind: "hostping.run",
		Sequence: 3, Reason: "ok & done", Output: json.RawMessage(`{"text":"a<b","list":[1,2]}`)}
}

func signedBy(t testing.TB, key string, r schema.CommandResult) schema.CommandResult {
	t.Helper()
	r, err := command.NewSigner(r.Agent, testKey(key)).SignResult(r)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestWhichResultsAreAccepted(t *testing.T) {
	refused := func(reason safety.Reason) string { return string(reason) }
	for name, c := range map[string]struct {
		cfg    command.ResultsConfig
		result schema.CommandResult
		want   string // valid, unverified or the reason of the refusal
	}{
		"signed by its agent":                     {listed("refuse"), signedBy(t, "gpu-1", result("gpu-1")), "valid"},
		"signed with the agent's next key":        {listed("refuse"), signedBy(t, "gpu-1-next", result("gpu-1")), "valid"},
		"signed with the key of a pattern":        {listed("refuse"), signedBy(t, "r7", result("r7-1")), "valid"},
		"an exact name goes before a pattern":     {listed("refuse"), signedBy(t, "r7-9", result("r7-9")), "valid"},
		"a pattern's key for an exact name":       {listed("refuse"), signedBy(t, "r7", result("r7-9")), refused(command.BadSignature)},
		"another agent's key":                     {listed("accept"), signedBy(t, "r7", result("gpu-1")), refused(command.BadSignature)},
		"unsigned, of an agent with a key":        {listed("accept"), result("gpu-1"), refused(command.Unsigned)},
		"unsigned, of an agent without":           {listed("refuse"), result("gpu-2"), refused(command.UnknownAgent)},
		"signed, of an agent without":             {listed("refuse"), signedBy(t, "gpu-1", result("gpu-2")), refused(command.UnknownAgent)},
		"unsigned, while keys are introduced":     {listed("accept"), result("gpu-2"), "unverified"},
		"signed first, while keys are introduced": {listed("accept"), signedBy(t, "gpu-2", result("gpu-2")), "unverified"},
		"no keys are listed":                      {command.ResultsConfig{Unlisted: "refuse"}, result("gpu-1"), "unverified"},
	} {
		verified, no := verifier(c.cfg).Verify(&c.result)
		got := "unverified"
		switch {
		case no != nil:
			got = string(no.Reason)
		case verified:
			got = "valid"
		}
		if got != c.want || verified && no != nil {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestAnAgentSignsOnlyInItsName(t *testing.T) {
	if _, err := command.NewSigner("gpu-1", testKey("gpu-1")).SignResult(result("gpu-2")); err == nil || !strings.Contains(err.Error(), "gpu-1") {
		t.Errorf("gpu-1 signs for gpu-2: %v", err)
	}
}

// A result that the audit would refuse is not sent.
func TestMalformedResultsAreNotPublished(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*schema.CommandResult)
		err    string // none: it is sent
	}{
		"as it is":         {func(*schema.CommandResult) {}, ""},
		"a long id":        {func(r *schema.CommandResult) { r.CommandID = strings.Repeat("x", command.MaxIDBytes) }, ""},
		"a longer id":      {func(r *schema.CommandResult) { r.CommandID = strings.Repeat("x", command.MaxIDBytes+1) }, "up to 64"},
		"an id with slash": {func(r *schema.CommandResult) { r.CommandID = "../x" }, "command_id"},
		"no fabric":        {func(r *schema.CommandResult) { r.Fabric = "" }, "1 to 160 bytes"},
		"no agent":         {func(r *schema.CommandResult) { r.Agent = "" }, "1 to 160 bytes"},
		"no status":        {func(r *schema.CommandResult) { r.Status = "finished" }, "status finished is unknown"},
	} {
		b, r := newBus(), result("gpu-1")
		c.change(&r)
		err := command.Publisher{Sink: b}.Publish(t.Context(), 0, &r)
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(strings.ReplaceAll(err.Error(), `"`, ""), c.err) {
			t.Errorf("%s: %v, want %q", name, err, c.err)
		}
		if n := len(b.results(t)); (n == 1) != (c.err == "") {
			t.Errorf("%s: %d results sent", name, n)
		}
	}
	r := result("gpu-1")
	if err := (command.Publisher{Sink: newBus(), Signer: command.NewSigner("gpu-2", testKey("gpu-2"))}).Publish(t.Context(), 0, &r); err == nil {
		t.Error("gpu-2 publishes for gpu-1")
	}
}

func TestOutputIsBounded(t *testing.T) {
	for over, fits := range []bool{true, false} {
		if _, err := command.Output(strings.Repeat("x", command.MaxOutputBytes-2+over)); (err == nil) != fits {
			t.Errorf("%d bytes over the limit: %v", over, err)
		}
	}
	if _, err := command.Output(make(chan int)); err == nil {
		t.Error("a channel is encoded")
	}
}

func TestWhetherKeysAreKnown(t *testing.T) {
	for _, c := range []struct {
		agents []command.AgentKeys
		want   bool
	}{{nil, false}, {listed("refuse").Agents[:1], true}, {listed("refuse").Agents[1:2], true}} {
		if got := verifier(command.ResultsConfig{Agents: c.agents}).Knows(); got != c.want {
			t.Errorf("keys of %v: %v", c.agents, got)
		}
	}
	if _, err := command.NewVerifier(command.ResultsConfig{Agents: []command.AgentKeys{{Name: "n1", Keys: []string{"short"}}}}); err == nil {
		t.Error("a key that is none is taken")
	}
}

// The encoding is part of the protocol.
func TestTheFormOfAResult(t *testing.T) {
	r := signedBy(t, "gpu-1", result("gpu-1"))
	r.Signature = r.Signature[:3]
	text, err := json.Marshal(&r)
	const want = `{"command_id":"A1","fabric":"rail\u003c0\u003e","agent":"gpu-1","time":"2026-01-05T00:00:00.000000001Z","status":"done","kind":"hostping.run",` +
		`"sequence":3,"reason":"ok \u0026 done","output":{"text":"a\u003cb","list":[1,2]},"signature":"`
	if err != nil || !strings.HasPrefix(string(text), want) {
		t.Errorf("%s, want %s...: %v", text, want, err)
	}
}

// If any single bit of a signed result is flipped in transit, it is refused, or is the same result in another encoding.
func TestEveryFlippedBitOfAResultIsRefused(t *testing.T) {
	sent := signedBy(t, "gpu-1", result("gpu-1"))
	text, err := json.Marshal(&sent)
	if err != nil {
		t.Fatal(err)
	}
	v := verifier(listed("refuse"))
	accepted := 0
	for bit := range 8*len(text) + 1 {
		changed := bytes.Clone(text)
		if bit < 8*len(text) { // the last is the result as it was sent
			changed[bit/8] ^= 1 << (bit % 8)
		}
		var r schema.CommandResult
		if json.Unmarshal(changed, &r) != nil {
			continue
		}
		if verified, no := v.Verify(&r); no != nil || !verified {
			continue
		}
		accepted++
		if again, err := json.Marshal(&r); err != nil || !bytes.Equal(again, text) {
			t.Fatalf("bit %d flipped, and still valid: %s", bit, changed)
		}
	}
	if accepted == 0 {
		t.Error("the unchanged result is refused")
	}
}

// A command's signature under the same key is not valid for a result.
func TestASignatureServesOnePurpose(t *testing.T) {
	c := sample()
	if err := command.NewSigner("gpu-1", testKey("gpu-1")).Sign(&c); err != nil {
		t.Fatal(err)
	}
	r := result("gpu-1")
	r.Signature = c.Signature
	if _, no := verifier(listed("refuse")).Verify(&r); no == nil || no.Reason != command.BadSignature {
		t.Errorf("refusal %v", no)
	}
}

func TestResultsConfig(t *testing.T) {
	cfg := command.DefaultConfig()
	cfg.Results.Agents = []command.AgentKeys{{Name: "gpu-[", Keys: []string{public("a")}}, {Name: "b"}, {Name: "b", Keys: []string{"short"}}}
	cfg.Results.Unlisted = "ignore"
	text := cfg.Validate().Error()
	for _, want := range []string{"results.agents.0.name: ", "results.agents.1.keys: empty", "results.agents.2.name: \"b\" is duplicated", "results.agents.2.keys.0: ", "results.unlisted: \"ignore\""} {
		if !strings.Contains(text, want) {
			t.Errorf("no fault %q in:\n%s", want, text)
		}
	}
}

// An attacker who can write to the result topic gets nothing into the audit or to the client: results forged before
// the genuine answer are refused, counted and moved to the dead letters, and the genuine one is accepted.
func TestForgedResultsAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, kept := newBus(), &archive{}
		results := &committedTail{tail: b.fromStart(envelope.Results)}
		reg := prometheus.NewRegistry()
		metrics, err := command.NewAuditMetrics(reg)
		if err != nil {
			t.Fatal(err)
		}
		v := verifier(command.ResultsConfig{Unlisted: "refuse", Agents: []command.AgentKeys{{Name: "n1", Keys: []string{public("n1")}}}})
		auditor := command.NewAuditor("f", command.AuditDeps{Commands: &committedTail{tail: b.fromStart(envelope.Commands)}, Results: results, Records: kept,
			Keys: ring(t), Verifier: v, Log: quiet, Metrics: metrics})
		stop := background(t, auditor.Run)
		log := &journal.Journal{}
		client := clientThatTrusts(b, "operator", v, slog.New(slog.NewTextHandler(log, nil)))
		c, err := client.New(command.Order{Kind: "test.act", Targets: []string{"*"}, ValidFor: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		answers := make(chan []command.Answer, 1)
		go func() {
			got, _ := client.Ask(t.Context(), &c, 10*time.Second, 1)
			answers <- got
		}()
		synctest.Wait()
		for _, forged := range []struct {
			agent  string
			signer *command.Signer
		}{{"n1", nil}, {"n1", command.NewSigner("n1", testKey("mallory"))}, {"n2", command.NewSigner("n2", testKey("n2"))}} {
			r := schema.CommandResult{CommandID: c.ID, Fabric: "f", Agent: forged.agent, Time: c.Issued, Status: schema.CommandFailed, Reason: "forged"}
			if err := (command.Publisher{Sink: b, Signer: forged.signer}).Publish(t.Context(), 0, &r); err != nil {
				t.Fatal(err)
			}
		}
		startAgent(t, b, agentOptions{name: "n1", handlers: []command.Handler{instantly("test.act")}, signer: command.NewSigner("n1", testKey("n1"))})
		got := <-answers
		if len(got) != 1 || got[0].Agent != "n1" || got[0].Status != schema.CommandDone {
			t.Errorf("answers %+v", got)
		}
		for _, reason := range command.ResultReasons() {
			if !strings.Contains(log.String(), "reason="+string(reason)) {
				t.Errorf("the client does not report %s:\n%s", reason, log)
			}
		}
		time.Sleep(2 * time.Second)
		stop()
		if len(kept.results) != 2 || kept.results[0].Reason == "forged" || kept.results[1].Reason == "forged" || results.rejected != 3 {
			t.Errorf("%d rejected, stored %+v", results.rejected, kept.results)
		}
		for _, r := range kept.results {
			if r.Verified != schema.Verified {
				t.Errorf("result %+v: its signature is of its agent's key", r)
			}
		}
		const want = `# HELP giverny_command_results_refused_total Results refused because of their signature, and put into the dead letters.
# TYPE giverny_command_results_refused_total counter
giverny_command_results_refused_total{fabric="f",reason="bad_signature"} 1
giverny_command_results_refused_total{fabric="f",reason="unknown_agent"} 1
giverny_command_results_refused_total{fabric="f",reason="unsigned"} 1
# HELP giverny_command_results_unverified_total Results accepted without a verified signature, because no key of the agent is configured.
# TYPE giverny_command_results_unverified_total counter
giverny_command_results_unverified_total{fabric="f"} 0
`
		if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "giverny_command_results_refused_total", "giverny_command_results_unverified_total"); err != nil {
			t.Error(err)
		}
	})
}

// An answer left over from before a restart is signed with the agent's current key.
func TestLeftoverAnswersAreSigned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, state := newBus(), t.TempDir()+"/commands.json"
		first := startAgent(t, b, agentOptions{state: state, sink: deafSink{}, handlers: []command.Handler{instantly("test.act")}})
		time.Sleep(time.Second)
		c := send(t, b, "operator", command.Order{Kind: "test.act"})
		time.Sleep(time.Second)
		first.stop()
		startAgent(t, b, agentOptions{state: state, source: b.fromEnd(envelope.Commands), signer: command.NewSigner("n1", testKey("n1"))})
		time.Sleep(time.Second)
		v := verifier(command.ResultsConfig{Agents: []command.AgentKeys{{Name: "n1", Keys: []string{public("n1")}}}})
		list := b.results(t)
		if len(list) != 1 || list[0].CommandID != c.ID {
			t.Fatalf("results %+v", list)
		}
		if verified, no := v.Verify(&list[0]); no != nil || !verified {
			t.Errorf("refused: %v", no)
		}
	})
}
