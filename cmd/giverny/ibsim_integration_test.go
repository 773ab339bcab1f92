//go:build integration

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/internal/test/ibsim"
)

// From the counters of a subnet to a verdict, by the commands that the how-to guides give: ibnetdiscover's output is imported,
// perfquery is read every interval, and the links CSV computed from the readings shows the port whose PortXmitWait rises.
func TestSubnetToVerdict(t *testing.T) {
	tree := ibsim.FatTree{Leaves: 3, Spines: 2, HostsPerLeaf: 4}
	subnet := ibsim.Start(t, tree.Netlist())
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) {
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) string {
		stdout, stderr, err := giverny(t.Context(), args...)
		if err != nil {
			t.Fatalf("giverny %s: %v\n%s", strings.Join(args, " "), err, stderr)
		}
		t.Logf("giverny %s: %s", strings.Join(args, " "), stderr)
		return stdout
	}
	write("fabric.txt", subnet.Output("ibnetdiscover"))
	run("topology", "import", at("fabric.txt"), "--fabric", "ib0", "--out", at("ib0.yaml"))
	config := at("giverny.yaml")
	write("giverny.yaml", fmt.Sprintf("fabrics: [{name: ib0, topology: ib0.yaml}]\ncollect: {perfquery: {enabled: true, command: [%s]}}\n", strings.Join(subnet.Prefix(), ", ")))

	// The polls take as long as they take; the times in the readings are a minute apart. 12 s of ticks of 20 ns are 20%.
	const ticks, interval = 600_000_000, time.Minute
	stamp := regexp.MustCompile(`"time":"[^"]*"`)
	hot := map[string]int{tree.Spine(0): tree.Downlink(0, 0), tree.Spine(1): tree.Downlink(0, 0), tree.Leaf(0): 1} // towards node0
	for _, leaf := range []int{1, 2} {
		hot[tree.Leaf(leaf)] = tree.Uplink(0, 0)
	}
	var readings strings.Builder
	for poll := range 4 {
		for node, port := range hot {
			subnet.SetCounter(node, port, "PortCounters.PortXmitWait", uint64(poll)*ticks)
		}
		at := time.Date(2026, 1, 5, 0, poll, 0, 0, time.UTC).Format(time.RFC3339)
		readings.WriteString(stamp.ReplaceAllString(run("collect", "--once", "--json", "--config", config), `"time":"`+at+`"`))
	}
	write("readings.jsonl", readings.String())
	write("links.csv", run("counters", "--topology", at("ib0.yaml"), "--interval", interval.String(), "--tick-picoseconds", "20000", at("readings.jsonl")))
	verdict := run("diagnose", "--topology", at("ib0.yaml"), "--interval", interval.String(), "--links", at("links.csv"))
	if !strings.Contains(verdict, "leaf0 port 1") {
		t.Errorf("the verdict does not name the port to the receiver:\n%s", verdict)
	}
}
