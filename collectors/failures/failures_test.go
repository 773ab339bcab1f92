package failures_test

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/collectors/failures"
	"github.com/giverny/giverny/collectors/feeds"
)

// texts formats rows as text, one per line: time, kind, device, port.
func texts(rows *feeds.Rows) (list []string) {
	for _, f := range rows.Failures {
		list = append(list, fmt.Sprintf("%s %s %s %s", f.Time, f.Kind, f.Device, f.Port))
	}
	return list
}

func TestLines(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	opt := failures.Options{Zone: berlin, Host: "agent", Reference: time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)}
	for _, c := range []struct{ format, line, want string }{
		// kernels, by driver
		{"syslog", `Jan  5 01:30:00 node12 kernel: [12345.678901] mlx5_core 0000:3b:00.0 ens1f0: Link down`, "2026-01-05T00:30:00Z link_failed node12 ens1f0"},
		{"syslog", `Jan  5 01:30:01 node12 kernel: mlx5_core 0000:3b:00.0 ens1f0: Link up`, "2026-01-05T00:30:01Z link_restored node12 ens1f0"},
		{"syslog", `Dec 31 23:59:59 node12 kernel: mlx5_core 0000:3b:00.0: Port module event: module 0, Cable unplugged`, "2025-12-31T22:59:59Z link_failed node12 0000:3b:00.0"},
		{"syslog", `<4>Jan  5 01:30:00 node13 kernel: mlx4_en: ens6: Link Down`, "2026-01-05T00:30:00Z link_failed node13 ens6"},
		{"syslog", `2026-01-05T00:30:00.250000+00:00 node14 kernel: <mlx4_ib> mlx4_0: Port 1 logical link is up`, "2026-01-05T00:30:00.25Z link_restored node14 mlx4_0/1"},
		{"syslog", `<30>1 2026-01-05T01:30:00.003+01:00 node15.example.org kernel - - [meta sequenceId="1"] bnxt_en 0000:18:00.0 eno1: NIC Link is Down`, "2026-01-05T00:30:00.003Z link_failed node15.example.org eno1"},
		{"syslog", `<30>1 2026-01-05T01:30:00Z node15 kernel - - - bnxt_en 0000:18:00.0 eno1: NIC Link is Up, 25000 Mbps (NRZ) full duplex, Flow control: none`, "2026-01-05T01:30:00Z link_restored node15 eno1"},
		{"syslog", `Jan  5 01:30:00 node16 kernel: i40e 0000:3d:00.0 eth0: NIC Link is Up, 10 Gbps Full Duplex, Flow Control: None`, "2026-01-05T00:30:00Z link_restored node16 eth0"},
		{"syslog", `Jan  5 01:30:00 node16 kernel: igb 0000:04:00.0 eth2: igb: eth2 NIC Link is Down`, "2026-01-05T00:30:00Z link_failed node16 eth2"},
		{"syslog", `2026-01-05T00:30:00,123456+00:00 i40e 0000:3d:00.0 eth0: NIC Link is Down`, "2026-01-05T00:30:00.123456Z link_failed agent eth0"},
		// switches, a scheduler
		{"syslog", `Jan  5 01:30:00.123456 leaf1 NOTICE swss#orchagent: :- updatePortOperStatus: Port Ethernet0 oper state set from up to down`, "2026-01-05T00:30:00.123456Z link_failed leaf1 Ethernet0"},
		{"syslog", `Jan  5 01:30:00 leaf2 Ebra: %LINEPROTO-5-UPDOWN: Line protocol on Interface Ethernet7/1 (uplink), changed state to up`, "2026-01-05T00:30:00Z link_restored leaf2 Ethernet7/1"},
		{"syslog", `Jan  5 01:30:00 head slurmctld[77]: error: Nodes n[1-2] not responding, setting DOWN`, "2026-01-05T00:30:00Z node_failed n[1-2] "},
		{"syslog", `Jan  5 01:30:00 head slurmctld[77]: Node n1 now responding`, "2026-01-05T00:30:00Z node_restored n1 "},
		{"syslog", `Nov 22 14:02:11 node17 kernel: [123.4] mlx5_core 0000:3b:00.0: Port 1 link down`, "2025-11-22T13:02:11Z link_failed node17 0000:3b:00.0/1"},
		{"syslog", `Jan  5 01:30:00 node17 kernel: ib0: link down`, "2026-01-05T00:30:00Z link_failed node17 ib0"},
		{"syslog", `Jan  5 01:30:00 node17 kernel: [ 336.603619] eth0: Link is Up - 1Gbps/Full`, "2026-01-05T00:30:00Z link_restored node17 eth0"},
		{"syslog", `Jan  5 01:30:00 leaf2 %ETHPORT-5-IF_DOWN_LINK_FAILURE: Interface Ethernet1/1 is down (Link failure)`, "2026-01-05T00:30:00Z link_failed leaf2 Ethernet1/1"},
		{"syslog", `Jan  5 01:30:00 leaf2 %ETHPORT-5-IF_UP: Interface Ethernet1/1 is up in mode access`, "2026-01-05T00:30:00Z link_restored leaf2 Ethernet1/1"},
		{"syslog", `2026-01-05T01:30:00+01:00 node17 kernel: [ 4443.974372] mlx5_core 0000:53:00.0 mlx5_3: Port: 1 Link DOWN`, "2026-01-05T00:30:00Z link_failed node17 mlx5_3/1"},
		{"syslog", `Jan  5 01:30:00 node17 kernel: mlx5_core 0000:08:00.0 rdmap8s0f0: Port: 2 Link ACTIVE`, "2026-01-05T00:30:00Z link_restored node17 rdmap8s0f0/2"},
		{"syslog", `Jan  5 01:30:00 node17 kernel: mlx5_core 0000:08:00.0 mlx5_0: Port: 1 Link INIT`, ""},
		{"syslog", `Jan  5 01:30:00 head slurmctld[77]: node_did_resp: node n1 returned to service`, "2026-01-05T00:30:00Z node_restored n1 "},
		{"syslog", `Jan  5 01:30:00 leaf3 kernel: mlxsw_spectrum 0000:03:00.0 swp1: link down`, "2026-01-05T00:30:00Z link_failed leaf3 swp1"},
		// dmesg -T, and a host's own log without its name
		{"syslog", `[Mon Jan  5 01:30:00 2026] mlx5_core 0000:3b:00.0 ib0: Link down`, "2026-01-05T00:30:00Z link_failed agent ib0"},
		{"syslog", `Jan  5 01:30:00 kernel: ib0: link down`, "2026-01-05T00:30:00Z link_failed agent ib0"},
		// Cisco: a colon after the host, the year first, as sent to a syslog server
		{"syslog", `Jan  5 01:30:00 leaf2: %LINEPROTO-5-UPDOWN: Line protocol on Interface Ethernet1/1, changed state to down`, "2026-01-05T00:30:00Z link_failed leaf2 Ethernet1/1"},
		{"syslog", `2026 Jan  5 01:30:00 leaf2 %ETHPORT-5-IF_DOWN_LINK_FAILURE: Interface Ethernet1/1 is down (Link failure)`, "2026-01-05T00:30:00Z link_failed leaf2 Ethernet1/1"},
		{"syslog", `<189>: 2026 Jan  5 00:30:00.500 UTC: leaf2 %ETHPORT-5-IF_UP: Interface Ethernet1/1 is up in mode access`, "2026-01-05T00:30:00.5Z link_restored leaf2 Ethernet1/1"},
		{"syslog", `Jan  5 01:30:00 leaf2 : 2026 Jan  5 01:29:59 CET: %ETHPORT-5-IF_DOWN_LINK_FAILURE: Interface Ethernet1/1 is down (Link failure)`, "2026-01-05T00:30:00Z link_failed leaf2 Ethernet1/1"},
		{"syslog", `2026-01-05T01:30:00+01:00 leaf2 : 2026 Jan  5 01:29:59 CET: %ETHPORT-5-IF_DOWN_LINK_FAILURE: Interface Ethernet1/1 is down (Link failure)`, "2026-01-05T00:30:00Z link_failed leaf2 Ethernet1/1"},
		// repeats of a driver's message, and unrelated lines
		{"syslog", `Jan  5 01:30:00 node12 kernel: bond0: (slave ens1f0): link status definitely down, disabling slave`, ""},
		{"syslog", `Jan  5 01:30:00 node12 kernel: IPv6: ADDRCONF(NETDEV_CHANGE): ens1f0: link becomes ready`, ""},
		{"syslog", `Jan  5 01:30:00 node12 sshd[1]: Accepted publickey for root`, ""},
		{"syslog", `Feb 30 01:30:00 node12 kernel: mlx5_core 0000:3b:00.0 ens1f0: Link down`, "no_time"},
		// OpenSM
		{"opensm", `Jan 05 01:30:00 290242 [A2D096C0] 0x02 -> drop_mgr_remove_port: Removed port with GUID:0x0c42a10300300021 LID range [7, 7] of node:node2 mlx5_0`, "2026-01-05T00:30:00.290242Z node_failed node2 mlx5_0 "},
		{"opensm", `Jan 05 01:30:01 000042 [A2D096C0] 0x02 -> state_mgr_report_new_ports: Discovered new port with GUID:0x0c42a10300300021 LID range [7,7] of node: node2 mlx5_0`, "2026-01-05T00:30:01.000042Z node_restored node2 mlx5_0 "},
		{"opensm", `Jan 05 01:30:01 000042 [A2D096C0] 0x01 -> state_mgr_light_sweep_start: ERR 3315: Unknown remote side for node 0x0c42a10300100000 (leaf0) port 4. Adding to light sweep sampling list`, "2026-01-05T00:30:01.000042Z link_failed 0x0c42a10300100000 4"},
		{"opensm", `Jan 05 01:30:00 278202 [A4D0D6C0] 0x01 -> log_trap_info: Received Generic Notice type:1 num:128 (Link state change) Producer:2 (Switch) from LID:2 TID:0x0`, ""},
		{"opensm", `Jan 05 01:30:00 723004 [B7FFF700] 0x02 -> osm_spst_rcv_process: Switch 0xb8599f0300fcd054 MF0;LG27-05:MQM8700/U1 port 14(14) changed state from ACTIVE to DOWN`, "2026-01-05T00:30:00.723004Z link_failed 0xb8599f0300fcd054 14"},
		{"opensm", `Jan 05 01:30:00 723004 [B7FFF700] 0x02 -> osm_spst_rcv_process: Switch 0xb8599f0300fcd054 MF0;LG27-05:MQM8700/U1 port 14 (A/P1) changed state from DOWN to INIT`, "2026-01-05T00:30:00.723004Z link_restored 0xb8599f0300fcd054 14"},
		{"opensm", `Jan 05 01:30:00 723004 [B7FFF700] 0x02 -> osm_spst_rcv_process: Switch 0xb8599f0300fcd054 sw port 14(14) changed state from INIT to ACTIVE`, ""},
		// netwatch
		{"netwatch", `120612 10:41:41 c12-2c2s3g1l24[(19,5,4)] Z+ -> c12-2c2s4g1l36 LinkInactive`, "2012-06-12T08:41:41Z link_failed 19,5,4 Z+"},
		{"netwatch", `2026-01-05 01:30:00 c0-0c0s3g0l13 link failed, 3 lanes`, "2026-01-05T00:30:00Z link_failed c0-0c0s3g0 l13"},
		{"netwatch", `2026-01-05T01:30:00Z (9, 1, 1) X+ link recovered`, "2026-01-05T01:30:00Z link_restored 9,1,1 X+"},
		{"netwatch", `Jan  5 01:30:00 smw xtnlrd[12]: Gemini failed at c0-0c0s3g0`, "2026-01-05T00:30:00Z node_failed c0-0c0s3g0 "},
		{"netwatch", `2026-01-05 01:30:00 Congestion protection: throttling all nodes, c0-0c0s3 and 12 others`, "2026-01-05T00:30:00Z congestion_protection  "},
		{"netwatch", `2026-01-05 01:40:00 Congestion protection ended`, ""},
		{"netwatch", `Tue Jun 12 10:41:41 2012 c12-2c2s3g1l24 LinkInactive`, "2012-06-12T08:41:41Z link_failed c12-2c2s3g1 l24"},
		// tables
		{"table", `2026-01-05T00:30:00Z;link_failed;"MF0;leaf1:MQM8700/U1";2;cable, bent`, "2026-01-05T00:30:00Z link_failed MF0;leaf1:MQM8700/U1 2"},
		{"table", "2026-01-05T00:30:00Z\tlink_failed\t3,4,5\tX+\tcable", "2026-01-05T00:30:00Z link_failed 3,4,5 X+"},
		{"table", "2026-01-05T00:30:00Z\tprotection\t\t\tall NICs throttled", "2026-01-05T00:30:00Z congestion_protection  "},
		{"table", `2026-01-05T00:30:00Z,switch_failed,leaf1,,"power, both"`, "2026-01-05T00:30:00Z switch_failed leaf1 "},
		{"table", "1767573000,link_failed,leaf1,2", "2026-01-05T00:30:00Z link_failed leaf1 2"},
		{"table", "2026-01-05T00:30:00Z\tlink_broken\tleaf1\t1\t", "unknown_kind"},
		// ibdiagnet, with the time at which the log was written
		{"ibdiagnet", `-W- Sfc6a1c03009be0c0/Nfc6a1c03009be0c0/P1/3/1 - "link_down_counter" increased during the run (difference value=1,difference allowed threshold=1)`, "2026-01-05T12:00:00Z link_failed fc6a1c03009be0c0 1/3/1"},
		{"ibdiagnet", `-E- node1/mlx5_0/P1 - "symbol_error_counter" increased during the run (difference value=27,difference allowed threshold=1)`, ""},
		{"ibdiagnet", `-E- node1/mlx5_0/U1/P1 - link is down`, "2026-01-05T12:00:00Z link_failed node1 mlx5_0 1"},
		{"ibdiagnet", `-W- lid=0x0004 guid=0x0002c90200400e39 dev=47396 Port=3 is in INIT state`, "2026-01-05T12:00:00Z link_failed 0x0002c90200400e39 3"},
		{"ibdiagnet", `-I- Links at 4x100: 15735`, ""},
	} {
		for _, format := range []string{c.format, ""} { // given, and detected
			opt.Format = format
			rows, err := parse(c.line+"\n", opt)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(texts(&rows), "; ")
			for reason := range rows.Dropped {
				if reason != feeds.NotAFailure {
					got += reason
				}
			}
			if n := uint64(len(rows.Failures)) + rows.Dropped[feeds.NotAFailure] + rows.Dropped[feeds.NoTime] + rows.Dropped[feeds.UnknownKind]; n != 1 {
				t.Errorf("%q as %q: %d failures, dropped %v; want the line counted once", c.line, format, len(rows.Failures), rows.Dropped)
			}
			if got != c.want {
				t.Errorf("%q as %q:\n got %q\nwant %q", c.line, format, got, c.want)
			}
		}
	}
}

// Times without a year, at the turn of the year and on February 29, are relative to the time the log was written.
func TestYears(t *testing.T) {
	for _, c := range []struct{ line, reference, want string }{
		{"Jan  1 00:00:10", "2026-01-01T00:00:20Z", "2026-01-01T00:00:10Z"},
		{"Dec 31 23:59:50", "2026-01-01T00:00:20Z", "2025-12-31T23:59:50Z"},
		{"Jan  1 00:00:10", "2025-12-31T23:59:50Z", "2026-01-01T00:00:10Z"}, // a clock that is ahead
		{"Jan  7 00:00:00", "2026-01-05T00:00:00Z", "2025-01-07T00:00:00Z"},
		{"Feb 29 12:00:00", "2026-03-05T00:00:00Z", "2024-02-29T12:00:00Z"},
	} {
		reference, err := time.Parse(time.RFC3339, c.reference)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := parse(c.line+" n1 kernel: mlx5_core 0000:3b:00.0 e1: Link down\n", failures.Options{Reference: reference})
		if err != nil {
			t.Fatal(err)
		}
		if len(rows.Failures) != 1 || rows.Failures[0].Time.String() != c.want {
			t.Errorf("%s read at %s: %v, want %s", c.line, c.reference, texts(&rows), c.want)
		}
	}
}

// The hour that clocks repeat at the end of daylight saving time: by when a line was written, and by the lines before it.
func TestRepeatedHour(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ reference, lines, want string }{
		{"2026-10-25T00:30:01Z", "Oct 25 02:30:00", "00:30:00"}, // followed: the first time
		{"2026-10-25T01:30:01Z", "Oct 25 02:30:00", "01:30:00"}, // and the second
		{"2026-10-25T01:30:01Z", "2026-10-25T02:30:00", "01:30:00"},
		{"2026-10-25T01:30:01Z", "2026-10-25T02:30:00+02:00", "00:30:00"}, // it has a zone
		{"2026-11-01T00:00:00Z", "Oct 25 01:59:00,Oct 25 02:30:00,Oct 25 02:29:59,Oct 25 02:59:00,Oct 25 02:00:10,Oct 25 02:00:05,Oct 25 02:40:00,Oct 25 03:00:00",
			"23:59:00 00:30:00 00:29:59 00:59:00 01:00:10 01:00:05 01:40:00 02:00:00"},
		{"2026-10-26T12:00:00Z", "2026-10-25 02:50:00,2026-10-25 02:10:00", "00:50:00 01:10:00"},
		{"2026-03-29T12:00:00Z", "Mar 29 01:59:59,Mar 29 03:00:00", "00:59:59 01:00:00"},
	} {
		reference, err := time.Parse(time.RFC3339, c.reference)
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		for line := range strings.SplitSeq(c.lines, ",") {
			text.WriteString(line + " n1 kernel: mlx5_core 0000:3b:00.0 e1: Link down\n")
		}
		rows, err := parse(text.String(), failures.Options{Zone: berlin, Reference: reference})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range rows.Failures {
			got = append(got, f.Time.Time().UTC().Format(time.TimeOnly))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s read at %s: %v, want %s", c.lines, c.reference, got, c.want)
		}
	}
}

// A table with its header in another order, and a report with its time.
func TestHeads(t *testing.T) {
	rows, err := parse("kind\tdevice\ttime\tdetail\tport\nlink_failed\tsw1\t2026-01-05T00:30:00Z\twhy\t2\nlink_failed\t\t2026-01-05T00:30:00Z\t\t\nnode_failed\tn1\tsoon\t\t\n", failures.Options{Name: "t.tsv", Format: "table"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"2026-01-05T00:30:00Z link_failed sw1 2"}, texts(&rows)); diff != "" || rows.Failures[0].Detail != "why" {
		t.Errorf("%s %+v", diff, rows.Failures)
	}
	if !cmp.Equal(rows.Dropped, map[string]uint64{feeds.Malformed: 1, feeds.NoTime: 1, feeds.NotAFailure: 1}) {
		t.Errorf("dropped %v", rows.Dropped)
	}
	if len(rows.Faults) != 2 || rows.Faults[1] != (feeds.Fault{Where: "t.tsv", Reason: feeds.NoTime, Detail: "no parsable time: node_failed n1 soon  "}) {
		t.Errorf("faults %q", rows.Faults)
	}
	rows, err = parse("Timestamp : 2025-03-01 12:19:52 CST +0800\nPort Counters\n-W- S0c42a10300100000/N0c42a10300100000/P4 - \"link_down_counter\" increased during the run\n", failures.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"2025-03-01T04:19:52Z link_failed 0c42a10300100000 4"}, texts(&rows)); diff != "" {
		t.Error(diff)
	}
	if _, err := parse("", failures.Options{Format: "xml"}); err == nil {
		t.Error("an unknown format was taken")
	}
}

// A report without a time has that of its file; the next report in the same file is later.
func TestReportsWithoutTheirTime(t *testing.T) {
	p, err := failures.NewParser(failures.Options{Format: "ibdiagnet"})
	if err != nil {
		t.Fatal(err)
	}
	var rows feeds.Rows
	for hour := range 2 {
		p.Refer(time.Date(2026, 1, 5, hour, 0, 0, 0, time.UTC))
		p.Line("-E- node1/mlx5_0/U1/P1 - link is down", &rows)
	}
	want := []string{"2026-01-05T00:00:00Z link_failed node1 mlx5_0 1", "2026-01-05T01:00:00Z link_failed node1 mlx5_0 1"}
	if diff := cmp.Diff(want, texts(&rows)); diff != "" {
		t.Error(diff)
	}
}

// A source resumes after a restart without duplicates or losses.
func TestLogSource(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "failures.tsv")
	add := func(second int) {
		out, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		fmt.Fprintf(out, "2026-01-05T00:30:%02dZ\tlink_failed\tsw1\t2\t\n", second)
	}
	open := func() feeds.Source {
		cfg := &failures.LogConfig{Paths: []string{path}, FromStart: true, TimeZone: "UTC"}
		s, err := cfg.Open(feeds.Env{Host: "agent", Store: feeds.NewStore(dir, "feed"), Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	read := func(s feeds.Source, commit bool, seconds ...string) {
		t.Helper()
		rows, err := s.Read(t.Context(), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range rows.Failures {
			got = append(got, f.Time.Time().Format("05"))
		}
		if diff := cmp.Diff(seconds, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if commit {
			if err := s.Commit(); err != nil {
				t.Fatal(err)
			}
		}
	}
	s := open()
	if _, err := s.Read(t.Context(), time.Now()); err == nil {
		t.Error("a log that is not there is no error")
	}
	add(1)
	read(s, true, "01")
	add(2)
	read(s, false, "02") // read, but the agent dies before it is emitted
	add(3)
	read(open(), true, "02", "03")
	read(open(), true)
}

// A log in which failures do not end keeps no other from being read.
func TestLogsTakeTurns(t *testing.T) {
	dir := t.TempDir()
	flood, quiet := filepath.Join(dir, "flood"), filepath.Join(dir, "quiet")
	add := func(path, device string, lines int) {
		out, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		fmt.Fprint(out, strings.Repeat("2026-01-05T00:30:00Z\tlink_failed\t"+device+"\t2\t\n", lines))
	}
	cfg := &failures.LogConfig{Paths: []string{flood, quiet}, FromStart: true, TimeZone: "UTC"}
	s, err := cfg.Open(feeds.Env{Host: "agent", Store: feeds.NewStore(dir, "feed"), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	add(quiet, "quiet", 1)
	found := map[string]int{}
	for range 3 {
		add(flood, "flood", feeds.MaxRows)
		rows, err := s.Read(t.Context(), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range rows.Failures {
			found[f.Device]++
		}
	}
	if found["quiet"] != 1 || found["flood"] < feeds.MaxRows {
		t.Errorf("failures %v of 3 reads", found)
	}
}

// parse parses the lines of a log.
func parse(text string, opt failures.Options) (feeds.Rows, error) {
	var rows feeds.Rows
	p, err := failures.NewParser(opt)
	if err != nil {
		return rows, err
	}
	for line := range strings.Lines(text) {
		p.Line(line, &rows)
	}
	return rows, nil
}

// No input causes a panic, and every result has a kind, a time and a device.
func FuzzRead(f *testing.F) {
	f.Add([]byte("Jan  5 01:30:00 node12 kernel: mlx5_core 0000:3b:00.0 ens1f0: Link down\n"))
	f.Add([]byte("Jan 05 01:30:00 290242 [A2D096C0] 0x02 -> drop_mgr_remove_port: Removed port with GUID:0x0c LID range [7, 7] of node:node2 mlx5_0\n"))
	f.Add([]byte("time,kind,device\n2026-01-05T00:30:00Z,link_failed,sw1\n"))
	f.Add([]byte("120612 10:41:41 c12-2c2s3g1l24[(19,5,4)] Z+ LinkInactive\n-W- S0c42a10300100000/P4 - link is down\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, format := range append(failures.Formats(), "") {
			rows, _ := parse(string(text), failures.Options{Format: format, Reference: time.Unix(1767600000, 0)})
			for _, r := range rows.Failures {
				if r.Kind == "" || r.Time == 0 || r.Device == "" && r.Kind != "congestion_protection" {
					t.Fatalf("%s: %+v", format, r)
				}
			}
		}
	})
}

// A line in no known format is counted.
func TestUnknownForm(t *testing.T) {
	rows, err := parse("garbage \xff line\n\n", failures.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !cmp.Equal(rows.Dropped, map[string]uint64{feeds.UnknownForm: 1}) {
		t.Errorf("dropped %v", rows.Dropped)
	}
}

// A failure that cannot be used is reported with its log.
func TestFaultsOfFailures(t *testing.T) {
	rows, err := parse("2026-01-05T00:30:00Z\tlink_exploded\tleaf0\t3\n", failures.Options{Name: "a.log"})
	if err != nil {
		t.Fatal(err)
	}
	want := []feeds.Fault{{Where: "a.log", Reason: feeds.UnknownKind, Detail: "unknown kind: 2026-01-05T00:30:00Z link_exploded leaf0 3"}}
	if diff := cmp.Diff(want, rows.Faults); diff != "" {
		t.Error(diff)
	}
}
