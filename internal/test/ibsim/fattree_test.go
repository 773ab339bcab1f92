package ibsim

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var (
	portLine = regexp.MustCompile(`^\[(\d+)\](?:\([0-9a-f]+\))?\t"([SH]-[0-9a-f]{16})"\[(\d+)\]`)
	headLine = regexp.MustCompile(`^(?:Switch|Ca)\t(\d+) "([SH]-[0-9a-f]{16})"`)
)

// TestNetlistIsSymmetric checks what ibsim requires: each cable is listed at both ends, each port once.
func TestNetlistIsSymmetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := FatTree{
			Leaves:       rapid.IntRange(1, 9).Draw(t, "leaves"),
			Spines:       rapid.IntRange(1, 5).Draw(t, "spines"),
			HostsPerLeaf: rapid.IntRange(1, 6).Draw(t, "hosts"),
			LinksPerPair: rapid.IntRange(0, 3).Draw(t, "links"),
		}
		remote := map[string]string{} // "node[port]" at both ends
		var node string
		for line := range strings.SplitSeq(tree.Netlist(), "\n") {
			if head := headLine.FindStringSubmatch(line); head != nil {
				node = head[2]
			}
			if port := portLine.FindStringSubmatch(line); port != nil {
				here := fmt.Sprintf("%s[%s]", node, port[1])
				if there, taken := remote[here]; taken {
					t.Fatalf("%s is cabled to %s and again: %s", here, there, line)
				}
				remote[here] = fmt.Sprintf("%s[%s]", port[2], port[3])
			}
		}
		links := tree.Leaves * (tree.HostsPerLeaf + tree.Spines*tree.links())
		if len(remote) != 2*links {
			t.Fatalf("%d ends of cables, want %d", len(remote), 2*links)
		}
		for here, there := range remote {
			if remote[there] != here {
				t.Fatalf("%s says %s, which says %s", here, there, remote[there])
			}
		}
	})
}

func TestMeasure(t *testing.T) {
	got := measure(FatTree{Leaves: 2, Spines: 2, HostsPerLeaf: 3}.Netlist())
	want := size{nodes: 1 + 10, switches: 1 + 4, ports: 1 + 2*(5+1) + 2*(2+1) + 6*(1+1)}
	if got != want {
		t.Errorf("measure = %+v, want %+v", got, want)
	}
}
