package perfquery

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/giverny/giverny/collectors"
	"github.com/giverny/giverny/collectors/collectortest"
	"github.com/giverny/giverny/schema"
)

const inventoryText = `vendid=0x2c9
switchguid=0x1(1)
Switch	4 "S-0000000000000001"		# "leaf0" base port 0 lid 1 lmc 0
[1]	"H-0000000000000010"[1](11) 		# "node0 mlx5_0" lid 3 4xHDR
[3]	"S-0000000000000002"[3]		# "old" lid 2 4xHDR

Switch	4 "S-0000000000000002"		# "old" base port 0 lid 2 lmc 0
[3]	"S-0000000000000001"[3]		# "leaf0" lid 1 4xHDR

Ca	1 "H-0000000000000010"		# "node0 mlx5_0"
[1](11) 	"S-0000000000000001"[1]		# lid 3 lmc 0 "leaf0" lid 1 4xHDR
`

// fakeTool is a fake perfquery: leaf0 has 64-bit counters, node0 also a 64-bit
// PortXmitWait, the old switch only 32-bit ones. A file named after a GUID makes its
// node fail, hang, break off, or one of its ports fail, according to its content.
const fakeTool = `#!/bin/sh
dir=$(dirname "$0")
kind=plain
while [ $# -gt 0 ]; do
	case $1 in
	-x) kind=extended ;;
	-l) ;;
	-G) guid=$2; shift ;;
	*) ports=$(echo "$1" | tr , ' ') ;;
	esac
	shift
done
echo "$kind $guid $ports" >> "$dir/log"
fault=$(cat "$dir/$guid" 2>/dev/null)
[ "$fault" = fail ] && { echo 'ibwarn: [1] mad_rpc failed' >&2; echo 'perfquery: iberror: failed: perfquery' >&2; exit 255; }
[ "$fault" = hang ] && exec sleep 600
case $guid in
0x0000000000000001) mask='0x1300' mask2='0x0000000' ;;
0x0000000000000002) mask='0x1000' mask2='0x0000000' ;;
*) mask='0x5300' mask2='0x0000002' ;;
esac
for p in $ports; do
	case $p in ${fault#hang }) exec sleep 600 ;; esac
	[ "$fault" = "silent $p" ] && { echo 'perfquery: iberror: failed: perfquery' >&2; exit 255; }
	if [ $kind = plain ]; then
		echo "# Port counters: Lid 1 port $p (CapMask: $mask)"
		printf 'PortSelect:......................%s\nCounterSelect:...................0x0000\nSymbolErrorCounter:..............2\nCounterSelect2:..................0x00\nQP1Dropped:......................0\n' $p
		[ "$fault" = half ] && exit 1
		printf 'PortXmitData:....................4294967295\nPortXmitPkts:....................5\nPortRcvPkts:.....................6\nPortXmitWait:....................77\n'
	else
		echo "# Port extended counters: Lid 1 port $p (CapMask: $mask CapMask2: $mask2)"
		printf 'PortSelect:......................%s\nCounterSelect:...................0x0000\nPortXmitData:....................123456789012\nPortRcvPkts:.....................6\nPortUnicastXmitPkts:.............5\nCounterSelect2:..................0x00000000\nSymbolErrorCounter:..............3\nPortXmitWait:....................88\n' $p
	fi
done
`

// fakeSubnet writes the fake tools into a folder.
func fakeSubnet(t *testing.T) (dir string, cfg Config) {
	t.Helper()
	dir = t.TempDir()
	for name, script := range map[string]string{"perfquery": fakeTool, "ibnetdiscover": "#!/bin/sh\nexec cat \"$(dirname \"$0\")/inventory\"\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put(t, dir, "inventory", inventoryText)
	cfg = DefaultConfig()
	cfg.Perfquery, cfg.IBNetDiscover = filepath.Join(dir, "perfquery"), filepath.Join(dir, "ibnetdiscover")
	cfg.QueryTimeout, cfg.DiscoverTimeout = 20*time.Second, 20*time.Second
	return dir, cfg
}

func put(t *testing.T, dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func newCollector(t *testing.T, cfg Config) *Collector {
	t.Helper()
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestReadsASubnet(t *testing.T) {
	dir, cfg := fakeSubnet(t)
	c := newCollector(t, cfg)
	const polls = 2
	batches := collectortest.Poll(t, c, polls)
	got := collectortest.Readings(batches)
	for _, w := range []struct {
		device, port string
		want         map[string]uint64
	}{
		{"leaf0", "1", map[string]uint64{"ib.port_xmit_data": 123456789012, "ib.port_rcv_packets": 6, "ib.unicast_xmit_packets": 5, "ib.port_xmit_wait_32": 77, "ib.symbol_error": 2, "ib.qp1_dropped": 0, "ib.port_phys_state": 5}},
		{"old", "3", map[string]uint64{"ib.port_xmit_data_32": 4294967295, "ib.port_xmit_packets_32": 5, "ib.port_rcv_packets_32": 6, "ib.port_xmit_wait_32": 77, "ib.symbol_error": 2, "ib.qp1_dropped": 0, "ib.port_phys_state": 5}},
	} {
		row := got[schema.PortName{Device: w.device, Port: w.port}]
		if len(row) != len(w.want) {
			t.Errorf("%s: %v, want %v", w.device, row, w.want)
		}
		for name, v := range w.want {
			if have, read := row[name]; !read || have != v {
				t.Errorf("%s: %s = %d (%v), want %d", w.device, name, have, read, v)
			}
		}
	}
	if row := got[schema.PortName{Device: "node0 mlx5_0", Port: "1"}]; row["ib.port_xmit_wait"] != 88 || row["ib.symbol_error"] != 3 {
		t.Errorf("the adapter's 64-bit PortXmitWait: %v", row)
	}
	if len(got) != 4 {
		t.Errorf("ports %v, want those with a cable", got)
	}
	log, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]int{
		"plain 0x0000000000000001 1 3": polls, "extended 0x0000000000000001 1 3": polls, // all ports of a switch in one query
		"plain 0x0000000000000002 3": polls, "extended 0x0000000000000002 3": 0, // it has none
		"plain 0x11 1": 1, "extended 0x11 1": polls, // after the first poll they are known to suffice
	} {
		n := strings.Count(string(log), query+"\n")
		if n < want || n > want && want < polls { // another poll may have begun
			t.Errorf("%q was run %d times, want %d", query, n, want)
		}
	}
}

// read reads one device once.
func read(t *testing.T, c *Collector, device string) error {
	t.Helper()
	devices, err := c.Devices(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range devices {
		if d.Name() == device {
			return d.Read(t.Context(), &collectors.Reading{})
		}
	}
	t.Fatalf("no device %s", device)
	return nil
}

func TestDeadNodeIsLeftAlone(t *testing.T) {
	dir, cfg := fakeSubnet(t)
	put(t, dir, "0x0000000000000002", "fail")
	c := newCollector(t, cfg)
	var asked []int
	for poll := range 14 {
		err := read(t, c, "old")
		switch why := collectors.ReasonOf(err); {
		case err == nil:
			t.Fatal("no error")
		case why == collectors.Backoff:
		case why == collectors.Failed && strings.Contains(err.Error(), "iberror: failed: perfquery"):
			asked = append(asked, poll)
		default:
			t.Fatalf("poll %d: %v", poll, err)
		}
	}
	for i, want := range []int{0, 1, 3, 7} { // with pauses of 0, 1, 3, 7 polls
		if i >= len(asked) || asked[i] != want {
			t.Fatalf("it was asked in polls %v", asked)
		}
	}
	put(t, dir, "0x0000000000000002", "")
	for range 2 {
		read(t, c, "old")
	}
	for range 3 {
		if err := read(t, c, "old"); err != nil {
			t.Errorf("after it came back: %v", err)
		}
	}
}

// A node that hangs, or breaks off in the middle, loses only its own rows.
func TestNodeThatHangsOrBreaksOff(t *testing.T) {
	leak := goleak.IgnoreCurrent()
	dir, cfg := fakeSubnet(t)
	cfg.QueryTimeout = 300 * time.Millisecond
	put(t, dir, "0x0000000000000002", "hang")
	c := newCollector(t, cfg)
	begun := time.Now()
	if err := read(t, c, "old"); collectors.ReasonOf(err) != collectors.Timeout || time.Since(begun) > 50*time.Second {
		t.Errorf("%v after %v", err, time.Since(begun))
	}
	cfg.QueryTimeout = time.Minute
	put(t, dir, "0x0000000000000001", "half")
	put(t, dir, "0x0000000000000002", "")
	got := collectortest.Read(t, newCollector(t, cfg))
	if len(got) != 2 || len(got[schema.PortName{Device: "old", Port: "3"}]) == 0 {
		t.Errorf("ports %v; want those of old and of node0", got)
	}
	goleak.VerifyNone(t, leak)
}

// The tool stops at a port that does not answer: those after it are read, too, with their 64-bit counters, also while
// the silent one is left alone.
func TestSilentPortOfASwitch(t *testing.T) {
	for _, port := range []string{"1", "3"} {
		dir, cfg := fakeSubnet(t)
		put(t, dir, "0x0000000000000001", "silent "+port)
		c := newCollector(t, cfg)
		for poll := range 6 {
			got := collectortest.Read(t, c)
			for _, p := range []string{"1", "3"} {
				if _, read := got[schema.PortName{Device: "leaf0", Port: p}]["ib.port_xmit_data"]; read == (p == port) {
					t.Errorf("poll %d, port %s is silent: port %s is read: %v", poll, port, p, read)
				}
			}
			if len(got) != 3 {
				t.Errorf("poll %d: %d ports, want 3", poll, len(got))
			}
		}
		log, err := os.ReadFile(filepath.Join(dir, "log"))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(log), "plain 0x0000000000000001 "+port+"\n"); n > 3 {
			t.Errorf("the silent port %s was queried alone %d times in 6 polls, want pauses of 1, 3 polls", port, n)
		}
		put(t, dir, "0x0000000000000001", "")
		for range 8 {
			collectortest.Read(t, c)
		}
		if got := collectortest.Read(t, c); len(got) != 4 {
			t.Errorf("after port %s came back: %d ports, want 4", port, len(got))
		}
	}
}

// Ports for which the tool waits longer than the switch may take cost the others the first polls.
func TestPortsThatTakeTheTimeOfTheirSwitch(t *testing.T) {
	for fault, want := range map[string][]string{ // ports read in each poll
		"hang 1":    {"", "2 3", "2 3"},
		"hang 3":    {"1 2", "1 2", "1 2"},
		"hang [12]": {"", "", "3", "3"}, // after two polls the switch counts as silent; the ports at which the tool stopped come last
		"hang *":    {"", "", ""},
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			dir, cfg := fakeSubnet(t)
			put(t, dir, "inventory", strings.Replace(inventoryText, "[3]", "[2]\t\"H-0000000000000020\"[1](21) \t\t# \"node1 mlx5_0\" lid 4 4xHDR\n[3]", 1))
			put(t, dir, "0x0000000000000001", fault)
			devices, err := newCollector(t, cfg).Devices(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for poll, want := range want {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				var r collectors.Reading
				err := devices[0].Read(ctx, &r)
				cancel()
				var ports []string
				for _, p := range []string{"1", "2", "3"} {
					if strings.Contains(fmt.Sprintf("%+v", r), "Device:leaf0 Port:"+p) {
						ports = append(ports, p)
					}
				}
				if got := strings.Join(ports, " "); got != want || err == nil {
					t.Errorf("poll %d: ports %q, %v; want %q", poll, got, err, want)
				}
			}
		})
	}
}

func TestDiscovery(t *testing.T) {
	dir, cfg := fakeSubnet(t)
	cfg.DiscoverEvery = time.Nanosecond
	c := newCollector(t, cfg)
	names := func() (names []string, err error) {
		devices, err := c.Devices(t.Context())
		for _, d := range devices {
			names = append(names, d.Name())
		}
		return names, err
	}
	first, err := names()
	if err != nil || strings.Join(first, ",") != "leaf0,old,node0 mlx5_0" {
		t.Fatalf("%v, %v", first, err)
	}
	kept := c.nodes["0000000000000001"]
	put(t, dir, "inventory", "garbage [")
	if again, err := names(); err == nil || len(again) != 3 {
		t.Errorf("after a failed discovery: %v, %v; want what was known, and the error", again, err)
	}
	without, _, _ := strings.Cut(inventoryText, "Ca\t")
	put(t, dir, "inventory", without)
	if now, err := names(); err != nil || strings.Join(now, ",") != "leaf0,old" || c.nodes["0000000000000001"] != kept {
		t.Errorf("%v, %v; what is as before must keep what it learnt", now, err)
	}
	put(t, dir, "inventory", inventoryText)
	cfg.SwitchesOnly = true
	c = newCollector(t, cfg)
	if now, err := names(); err != nil || strings.Join(now, ",") != "leaf0,old" {
		t.Errorf("%v, %v", now, err)
	}
	cfg.IBNetDiscover = "no-such-program-of-giverny"
	c = newCollector(t, cfg)
	if _, err := names(); err == nil || !strings.Contains(err.Error(), "install infiniband-diags") {
		t.Errorf("%v", err)
	}
}

func TestArgumentVector(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Command, cfg.Env = []string{"env", "-u", "HOME"}, []string{"GIVERNY_A=b c;d"}
	cfg.CA, cfg.CAPort = "mlx5_1", 2
	out, err := cfg.run(t.Context(), "sh", "-c", "")
	if err == nil || !strings.Contains(err.Error(), "sh") { // -C is not an option of sh; it comes first
		t.Errorf("%q, %v", out, err)
	}
	cfg.CA, cfg.CAPort = "", 0
	if out, err := cfg.run(t.Context(), "sh", "-c", `echo "$GIVERNY_A $HOME"`); err != nil || string(out) != "b c;d \n" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestConfig(t *testing.T) {
	_, err := New(Config{CAPort: -1, MaxBackoffPolls: -1, Env: []string{"x"}})
	for _, key := range []string{"perfquery:", "ibnetdiscover:", "port: ", "discover_every", "discover_timeout", "\ntimeout: ", "max_backoff_polls", "env"} {
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("the error does not name %s: %v", key, err)
		}
	}
	cfg := DefaultConfig()
	if err := cfg.Validate(); err != nil {
		t.Errorf("the default is refused: %v", err)
	}
}

func TestConformance(t *testing.T) {
	collectortest.Run(t, func(t *testing.T) collectortest.Fixture {
		dir, cfg := fakeSubnet(t)
		return collectortest.Fixture{
			Collector: newCollector(t, cfg),
			Break:     func(t *testing.T) { put(t, dir, "0x0000000000000002", "fail") },
			Broken:    "old",
			Absent:    "ib.port_xmit_data",
			AbsentAt:  schema.PortName{Device: "old", Port: "3"},
		}
	})
}

// A node that stops responding causes a rediscovery at the next poll, once; if the
// listing then lacks a peer, the port is reported as down, and as linked when the peer
// is back.
func TestLostPortsAreReportedAsDown(t *testing.T) {
	dir, cfg := fakeSubnet(t)
	c := newCollector(t, cfg)
	trouble := func() { c.discovered = time.Now().Add(-cfg.DiscoverEvery / troubleShare) } // as if the last discovery had been that long ago
	port := schema.PortName{Device: "leaf0", Port: "3"}
	if row := collectortest.Read(t, c)[port]; row[physicalStateColumn] != physicalLinkUp || row[stateColumn] != 0 {
		t.Fatalf("at first: %v", row)
	}
	without := inventoryText[:strings.Index(inventoryText, "[3]")] + inventoryText[strings.Index(inventoryText, "\nCa"):]
	put(t, dir, "inventory", without)
	put(t, dir, "0x0000000000000002", "fail")
	trouble()
	if row := collectortest.Read(t, c)[port]; row[physicalStateColumn] != physicalLinkUp {
		t.Errorf("before the discovery: %v", row)
	}
	rows := collectortest.Read(t, c)
	if row := rows[port]; row[stateColumn] != stateDown || row[physicalStateColumn] != 0 || row["ib.symbol_error"] != 2 {
		t.Errorf("after the discovery: %v", row)
	}
	if row := rows[schema.PortName{Device: "leaf0", Port: "1"}]; row[physicalStateColumn] != physicalLinkUp {
		t.Errorf("the port beside it: %v", row)
	}
	discovered := c.discovered
	trouble()
	if collectortest.Read(t, c); c.discovered.After(discovered) {
		t.Error("discovered again without new trouble")
	}
	put(t, dir, "inventory", inventoryText)
	put(t, dir, "0x0000000000000002", "")
	c.Refresh()
	rows = collectortest.Read(t, c)
	if row := rows[port]; row[physicalStateColumn] != physicalLinkUp || row[stateColumn] != 0 {
		t.Errorf("after the peer is back: %v", row)
	}
	if _, read := rows[schema.PortName{Device: "old", Port: "3"}]; !read {
		t.Error("the peer is not read")
	}
}

// Standard error of a tool is kept in part, whatever its size.
func TestErrorsOfToolsAreBounded(t *testing.T) {
	c := Config{Command: []string{"sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x >&2; exit 3"}}
	if _, err := c.run(t.Context(), "perfquery"); err == nil || len(err.Error()) > 2*maxErrorBytes {
		t.Errorf("%.100v", err)
	}
}

// Output above the limit is not truncated silently: a subnet without its last devices would look like another one.
func TestOutputThatIsTooLongIsAnError(t *testing.T) {
	c := Config{Command: []string{"sh", "-c", "head -c 70000000 /dev/zero"}}
	if _, err := c.run(t.Context(), "ibnetdiscover"); err == nil || !strings.Contains(err.Error(), "more than 67108864 bytes") {
		t.Errorf("%.100v", err)
	}
}
