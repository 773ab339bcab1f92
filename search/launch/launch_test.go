package launch_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/command/dispatch"
	"github.com/giverny/giverny/command/dispatch/dispatchtest"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/search/launch"
)

// hostOf returns an agent's host that accepts searches.
func hostOf(agent, model, firmware, free string) dispatch.Host {
	h := dispatchtest.HostOf(agent, "mlx5_0", model, firmware, schema.KindSearch)
	h.Free = free
	return h
}

func TestRootOf(t *testing.T) {
	hosts := []dispatch.Host{hostOf("n1", "MT4129", "28", ""), hostOf("n2", "MT4125", "22", "")}
	for name, c := range map[string]struct {
		root  *schema.Root
		agent string // empty: none
	}{
		"the peer of a switch's port": {&schema.Root{Link: schema.NoLink, Device: "leaf0", Port: "1", Peer: "n2 HCA-1"}, "n2"},
		"the device itself":           {&schema.Root{Link: schema.NoLink, Device: "n1 HCA-1", Port: "1", Peer: "leaf0"}, "n1"},
		"by the agent's name":         {&schema.Root{Link: schema.NoLink, Device: "leaf0", Peer: "n1"}, "n1"},
		"no agent there":              {&schema.Root{Link: schema.NoLink, Device: "leaf0", Peer: "n9"}, ""},
		"between switches":            {&schema.Root{Link: schema.NoLink, Device: "leaf0"}, ""},
		"not known":                   {nil, ""},
	} {
		root, err := dispatch.RootOf(c.root, hosts)
		if root.Agent != c.agent || (err == nil) != (c.agent != "") {
			t.Errorf("%s: %+v, %v", name, root, err)
		}
		if err == nil && (root.Adapter != "mlx5_0" || root.Subsystem.CPU != "EPYC" || root.Subsystem.NICModel == "") {
			t.Errorf("%s: %+v", name, root)
		}
	}
}

func TestPlanWithoutRootNamesTheAlternative(t *testing.T) {
	w := newWorld()
	l := &launch.Launcher{Dispatcher: w.Dispatcher(), Config: launch.DefaultConfig(), Findings: w}
	_, err := l.Plan(t.Context(), launch.Want{Host: "n9"})
	if err == nil || !strings.Contains(err.Error(), `an adapter of "n9"`) || !strings.HasSuffix(err.Error(), ", or name a NIC model") {
		t.Error(err)
	}
}

func TestChoose(t *testing.T) {
	root := dispatch.Root{Agent: "n3", Subsystem: schema.Subsystem{NICModel: "MT4129", Firmware: "28"}}
	deaf := hostOf("n0", "MT4129", "28", "allowed")
	deaf.Kinds = nil
	all := []dispatch.Host{deaf, hostOf("n1", "MT4129", "27", "allowed"), hostOf("n2", "MT4129", "28", "allowed"), hostOf("n3", "MT4129", "28", "IDLE+DRAIN"),
		hostOf("n4", "MT4129", "28", ""), hostOf("n5", "MT4125", "28", "allowed"), {Agent: "n6", Free: "allowed", Kinds: []string{schema.KindSearch}}}
	passed := []launch.Passed{{Agent: "n0", Why: "accepts no searches: search.offer.engines of that agent is empty"},
		{Agent: "n4", Why: "is in use: neither in search.launch.allow_hosts nor drained"}, {Agent: "n5", Why: "has no MT4129"}, {Agent: "n6", Why: "has no MT4129"}}
	for peers, want := range map[int]launch.Choice{
		0: {Agent: "n3"},
		1: {Agent: "n3", Peers: []string{"n2"}}, // the root's firmware first
		2: {Agent: "n3", Peers: []string{"n2", "n1"}},
	} {
		want.Adapter, want.Passed, want.Subsystem = "mlx5_0", passed, schema.Subsystem{NICModel: "MT4129", Firmware: "28", CPU: "EPYC", NPS: 4}
		got, err := launch.Choose(root, all, peers, nil)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%d peers: %v %s", peers, err, diff)
		}
	}
	if _, err := launch.Choose(root, all, 3, nil); err == nil || !strings.Contains(err.Error(), "3 hosts with a MT4129 are free, 4 are needed: n0 accepts no searches") {
		t.Errorf("too few: %v", err)
	}
	if _, err := launch.Choose(root, nil, 0, nil); err == nil || !strings.Contains(err.Error(), "no agent answered") {
		t.Errorf("none: %v", err)
	}
}

func TestValidate(t *testing.T) {
	cfg := launch.DefaultConfig()
	if err := cfg.Validate(); err != nil {
		t.Error(err)
	}
	cfg.Policy.Enabled = true
	if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), "allow_hosts: empty, and slurm is off") {
		t.Errorf("a policy that could launch nowhere: %v", err)
	}
	cfg.Slurm = true
	if err := cfg.Validate(); err != nil {
		t.Error(err)
	}
	bad := launch.Config{AllowHosts: []string{"["}, Peers: -1}
	err := bad.Validate()
	for _, key := range []string{"allow_hosts.0", "engine", "peers", "budget", "duration", "policy.confidence", "policy.again_after", "policy.per_day"} {
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("no fault of %s in %v", key, err)
		}
	}
}
