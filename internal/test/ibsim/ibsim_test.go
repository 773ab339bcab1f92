//go:build integration

package ibsim

import (
	"context"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var small = FatTree{Leaves: 2, Spines: 2, HostsPerLeaf: 2}

// leafLID returns the LID that OpenSM assigned to leaf0.
func leafLID(t *testing.T, s *Subnet) string {
	t.Helper()
	found := regexp.MustCompile(`"leaf0" base port 0 lid (\d+) `).FindStringSubmatch(s.Output("ibnetdiscover"))
	if found == nil || found[1] == "0" {
		t.Fatal("leaf0 has no local identifier")
	}
	return found[1]
}

func TestCountersAreWhatTheConsoleSet(t *testing.T) {
	s := Start(t, small.Netlist())
	lid := leafLID(t, s)
	s.SetCounter(small.Leaf(0), 1, "PortCounters.PortXmitWait", 123456)
	s.SetCounter(small.Leaf(0), 1, "PortCountersExtended.PortXmitData", 99_999_999_999)
	if out := s.Output("perfquery", lid, "1"); !regexp.MustCompile(`PortXmitWait:\.*123456\n`).MatchString(out) {
		t.Errorf("perfquery does not show PortXmitWait 123456:\n%s", out)
	}
	if out := s.Output("perfquery", "-x", lid, "1"); !regexp.MustCompile(`PortXmitData:\.*99999999999\n`).MatchString(out) {
		t.Errorf("perfquery -x does not show PortXmitData 99999999999:\n%s", out)
	}
	if answer := s.Console(`Dump "` + small.Leaf(0) + `"`); !strings.Contains(answer, small.Spine(1)) {
		t.Errorf("Dump of leaf0 does not show spine1:\n%s", answer)
	}
	for line, want := range map[string]string{
		"Nonsense":         "unknown",
		`Unlink "S-00"[1]`: refusal,
	} {
		if answer := s.Console(line); !strings.Contains(answer, want) {
			t.Errorf("ibsim's answer to %s is %q, want %q in it", line, answer, want)
		}
	}
}

func TestLinksGoAndComeBack(t *testing.T) {
	s := Start(t, small.Netlist())
	down := regexp.MustCompile(`(?m)Down/`)
	if out := s.Output("iblinkinfo", "-l"); down.MatchString(out) {
		t.Fatalf("a link is down from the start:\n%s", out)
	}
	s.Unlink(small.Leaf(0), small.Uplink(1, 0))
	if out := s.Output("iblinkinfo", "-l"); !down.MatchString(out) {
		t.Errorf("after Unlink no link is down:\n%s", out)
	}
	s.Relink(small.Leaf(0), small.Uplink(1, 0))
	if out := s.Output("iblinkinfo", "-l"); down.MatchString(out) {
		t.Errorf("after Relink a link is down:\n%s", out)
	}
}

// TestSubnetsAreApart runs three subnets of different sizes at once, and queries one through Prefix.
func TestSubnetsAreApart(t *testing.T) {
	var all sync.WaitGroup
	for _, tree := range []FatTree{small, {Leaves: 3, Spines: 1, HostsPerLeaf: 4}, {Leaves: 4, Spines: 4, HostsPerLeaf: 8, LinksPerPair: 2}} {
		s := Start(t, tree.Netlist())
		all.Go(func() {
			argv := append(s.Prefix(), "ibnetdiscover")
			out, err := exec.CommandContext(context.Background(), argv[0], argv[1:]...).Output()
			if err != nil {
				t.Error(err)
			}
			if got, want := strings.Count(string(out), "\nCa\t"), tree.Leaves*tree.HostsPerLeaf; got != want {
				t.Errorf("%+v: ibnetdiscover sees %d adapters, want %d", tree, got, want)
			}
			if strings.Contains(string(out), " lid 0 4x") {
				t.Errorf("%+v: a port has no local identifier", tree)
			}
		})
	}
	all.Wait()
}
