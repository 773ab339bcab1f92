package dispatch_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/command/dispatch"
	"github.com/giverny/giverny/command/dispatch/dispatchtest"
	"github.com/giverny/giverny/schema"
)

// deaf agents refuse every command.
type deaf struct{ *dispatchtest.Site }

func (deaf) Ask(context.Context, *schema.Command, time.Duration, int) ([]command.Answer, error) {
	return []command.Answer{{CommandResult: schema.CommandResult{Agent: "n1", Status: schema.CommandRefused, Reason: "the signature matches none of the keys"}}}, nil
}

// If all agents refuse to be listed, their reason is reported, not that no agent has the adapter.
func TestAgentsThatRefuse(t *testing.T) {
	d := new(dispatchtest.Site).Dispatcher()
	d.Bus = deaf{new(dispatchtest.Site)}
	_, err := d.Hosts(t.Context(), nil)
	if want := `agent "n1" refused to be listed: the signature matches none of the keys`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// A probe has no NIC model to name instead: only a search does.
func TestRootThatNoAgentHas(t *testing.T) {
	for want, root := range map[string]*schema.Root{
		`an adapter of "n1";`:            {Peer: "n1"},
		`an adapter of "n1" or "leaf0";`: {Peer: "n1", Device: "leaf0"},
	} {
		if _, err := dispatch.RootOf(root, nil); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "NIC model") {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// The root is the adapter that the topology names, or an adapter of the host that it names: never one of another host.
func TestRootOf(t *testing.T) {
	bare := dispatchtest.HostOf("n3", "mlx5_0", "MT4129", "28.39")
	bare.Hardware.Adapters = nil
	first := dispatchtest.HostOf("n0", "mlx5_0", "MT4129", "28.39")
	hosts := []dispatch.Host{bare, first, dispatchtest.HostOf("n1", "mlx5_1", "MT4129", "28.39"), dispatchtest.HostOf("n2", "mlx5_2", "MT4129", "28.39")}
	for _, c := range []struct {
		root           schema.Root
		agent, adapter string // empty: none
	}{
		{schema.Root{Device: "leaf0", Peer: "n1 HCA-1"}, "n1", "mlx5_1"},
		{schema.Root{Device: "n2 HCA-1", Peer: "leaf0"}, "n2", "mlx5_2"},
		{schema.Root{Device: "n2", Peer: "leaf0"}, "n2", "mlx5_2"},
		{schema.Root{Device: "n3"}, "", ""},
		{schema.Root{Device: "leaf0"}, "", ""},
		{schema.Root{}, "", ""},
	} {
		root, err := dispatch.RootOf(&c.root, hosts)
		if root.Agent != c.agent || root.Adapter != c.adapter || (err == nil) != (c.agent != "") {
			t.Errorf("%+v: %s of %q, %v", c.root, root.Adapter, root.Agent, err)
		}
	}
}

// scripted agents give these answers.
type scripted struct {
	*dispatchtest.Site
	answers []schema.CommandResult
}

func (s scripted) Ask(context.Context, *schema.Command, time.Duration, int) (all []command.Answer, err error) {
	for i := range s.answers {
		all = append(all, command.Answer{CommandResult: s.answers[i]})
	}
	return all, nil
}

func (s scripted) Begin(ctx context.Context, c *schema.Command, wait time.Duration, expect int) ([]command.Answer, error) {
	return s.Ask(ctx, c, wait, expect)
}

// A host is what answers with its hardware; it is free if allowed by name, or drained.
func TestWhoIsAHost(t *testing.T) {
	hardware := []byte(`{"hardware": {"cpu": "EPYC"}}`)
	d := new(dispatchtest.Site).Dispatcher()
	d.Nodes = &dispatchtest.Site{Drained: map[string]string{"n2": "drained"}}
	d.Bus = scripted{new(dispatchtest.Site), []schema.CommandResult{
		{Agent: "stranger", Status: schema.CommandRefused}, {Agent: "n1", Status: schema.CommandDone, Output: hardware},
		{Agent: "n2", Status: schema.CommandDone, Output: hardware}, {Agent: "n3", Status: schema.CommandDone, Output: hardware},
		{Agent: "old", Status: schema.CommandDone, Output: []byte(`{}`)}, {Agent: "odd", Status: schema.CommandDone, Output: []byte(`{"hardware": {"cpu": "EPYC"}, "kinds": 1}`)},
		{Agent: "failed", Status: schema.CommandFailed, Output: hardware},
	}}
	hosts, err := d.Hosts(t.Context(), []string{"n1"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, h := range hosts {
		got = append(got, h.Agent+"="+h.Free)
	}
	if got := strings.Join(got, " "); got != "n1=allowed n2=drained n3=" {
		t.Errorf("hosts %s", got)
	}
}

// A command that an agent refuses, or that fails at once, was not sent; one that has begun, or is done already, was.
func TestSend(t *testing.T) {
	for status, fails := range map[schema.CommandStatus]bool{
		schema.CommandAccepted: false, schema.CommandDone: false, schema.CommandRefused: true, schema.CommandFailed: true,
	} {
		d := new(dispatchtest.Site).Dispatcher()
		d.Bus = scripted{new(dispatchtest.Site), []schema.CommandResult{{Agent: "n1", Status: status, Reason: "so there"}}}
		if a, err := d.Send(t.Context(), &schema.Command{ID: "C1"}, "n1"); a.Status != status || (err != nil) != fails {
			t.Errorf("%s: %s, %v", status, a.Status, err)
		}
	}
	d := new(dispatchtest.Site).Dispatcher()
	d.Bus = scripted{new(dispatchtest.Site), nil}
	if _, err := d.Send(t.Context(), &schema.Command{ID: "C1"}, "n1"); err == nil || !strings.Contains(err.Error(), "agent n1 did not answer within 1s; command C1 expires then") {
		t.Error(err)
	}
}
