//go:build integration

package store

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/engine/enginetest"
)

// written lists what the writers of each schema left in the database
// (testdata/writers), and how today's tables return it.
var written = []struct {
	since       int // schema
	query, want string
}{
	{1, "SELECT from_device || ' ' || to_device || ' ' || toString(capacity) FROM links WHERE fabric = 'old' ORDER BY link", "a b 1000000000; b a 1000000000"},
	{1, "SELECT toString(grid_dims) FROM fabrics WHERE fabric = 'old'", "[2]"},
	{2, "SELECT toString(link) || '=' || toString(value) FROM link_values WHERE fabric = 'old'", "0=12.5"},
	{2, "SELECT toString((duration_ms, links, measured, samples, dropped, network_next, move_metrics)) FROM intervals WHERE fabric = 'old' AND time = toDateTime64(120, 3)",
		"(60000,2,{'credit_stall':1},4,{'late':1},[],[])"},
	{3, "SELECT toString((region_id, severity, mean, links, odds_next, growth_links)) FROM regions WHERE fabric = 'old' AND time = toDateTime64(180, 3)", "(5,'High',30,[0],[],0)"},
	{3, "SELECT toString((state, regions, coverage)) FROM network_states WHERE fabric = 'old' AND metric = 'credit_stall'", "('High',[0,0,0,1],0.5)"},
	{3, "SELECT detail FROM events WHERE fabric = 'old'", "born"},
	{4, "SELECT toString((counter, device, port, toUnixTimestamp64Milli(time), value)) FROM counter_readings WHERE fabric = 'old' AND interval_start = toDateTime64(240, 3) ORDER BY counter",
		"('ib.symbol_error','a','X+',241500,3); ('new.thing','a','X+',241500,9223372036854775808)"},
	{5, "SELECT toString((odds_next, odds_later, growth_links, trend)) FROM regions WHERE fabric = 'old' AND time = toDateTime64(300, 3)", "([0,0,0,250,0],[0,0,0,200,50],-1,0.5)"},
	{5, "SELECT toString((metric, state_before, state_after, regions)) FROM region_transitions WHERE fabric = 'old'", "('credit_stall',3,3,1)"},
	{5, "SELECT toString((metric, threshold_percent, episode_intervals, links)) FROM hot_episodes WHERE fabric = 'old'", "('credit_stall',5,4,2)"},
	{5, "SELECT toString((metric, link, toUnixTimestamp64Milli(since))) FROM hot_links WHERE fabric = 'old'", "('credit_stall',0,180000)"},
	{6, "SELECT toString((counter, device, port, toUnixTimestamp64Milli(time), value)) FROM counter_readings WHERE fabric = 'old' AND interval_start = toDateTime64(360, 3) ORDER BY counter",
		"('ib.symbol_error','a','X+',361500,4); ('new.thing','a','X+',361500,5)"},
	{10, "SELECT toString((unknown, toUnixTimestamp64Milli(unknown_since))) FROM intervals WHERE fabric = 'old' AND time = toDateTime64(600, 3)", "('low_coverage',540000)"},
	{9, "SELECT toString((c.principal, c.targets, r.agent, r.status)) FROM commands AS c JOIN command_results AS r ON r.fabric = c.fabric AND r.command_id = c.id WHERE c.fabric = 'old'",
		"('operator',['*'],'n1','done')"},
	{11, "SELECT toString((revision, state, coverage)) FROM network_states WHERE fabric = 'old' AND metric = 'inq_stall' ORDER BY revision", "(0,'Neg',0.5); (1,'Low',1)"},
	{5, "SELECT toString((root_device, root_port, root_link)) FROM regions WHERE fabric = 'old' AND time = toDateTime64(300, 3)", "('','',0)"},
	{12, "SELECT toString((root_device, root_port, root_link)) FROM regions WHERE fabric = 'old' AND time = toDateTime64(720, 3)", "('a','X+',1)"},
	{13, "SELECT toString((nodes, toUnixTimestamp(end), state)) FROM jobs WHERE fabric = 'old' ORDER BY interval_start", "(['a','b'],0,'RUNNING'); (['a','b'],850,'COMPLETED')"},
	{13, "SELECT toString((toUnixTimestamp(time), kind, device, port, detail)) FROM failures WHERE fabric = 'old'", "(782,'link_failed','a','X+','cable')"},
	{13, "SELECT toString((toUnixTimestamp(begin), toUnixTimestamp(end), throttlings, toUnixTimestamp(congestion), stall_before, stall_after, alleviated)) FROM mitigations WHERE fabric = 'old'",
		"(500,510,3,480,900,80.5,true)"},
	{13, "SELECT toString((job_id, read_bytes, write_bytes, rdma_read_bytes, rdma_write_bytes)) FROM job_traffic WHERE fabric = 'old'", "('17',5,NULL,0,NULL)"},
	{13, "SELECT toString((region_id, severity, class, confidence, job_ids, blames, victim_ids, document)) FROM diagnoses WHERE fabric = 'old'",
		"(5,'High','system',0.9,['17'],[0.8],['18'],'{\"region\":\"5\"}')"},
	{14, "SELECT toString((toUnixTimestamp(time), sink, action, target, dry_run, outcome, reason, score, before, after)) FROM feedback_audit WHERE fabric = 'old'",
		"(841,'slurm','mark','n1',false,'done','why',72.5,'1','1000')"},
	{9, "SELECT toString((status, kind, sequence)) FROM command_results WHERE fabric = 'old' AND command_id != 'c20'", "('done','',0)"},
	{15, "SELECT toString((search_id, agent, status, sequence, region_id, peers, seed, budget, nic_model, firmware, nps, experiments, seconds, gigabytes, anomalies)) FROM search_steps WHERE fabric = 'old'",
		"('S1','n1','progress',2,5,['n2'],7,100,'MT4129','28.39.1002',4,40,1200.5,300.25,1)"},
	{15, "SELECT toString((search_id, experiment, symptom, mfs, nic_model)) FROM search_findings WHERE fabric = 'old'", "('S1',12,'pause','{\"qps\":{\"min\":320}}','MT4129')"},
	{15, "SELECT toString((agent, adapter, device, board)) FROM host_hardware WHERE fabric = 'old'", "('n1','mlx5_0','n1 HCA-1','MT_0000000838')"},
	{16, "SELECT toString((toUnixTimestamp(time), made_of, samples, kinds)) FROM rollups WHERE fabric = 'old'", "(3600,99,true,9)"},
	{16, "SELECT toString((kind, metric, x, y, n, total, other)) FROM hour_counts WHERE fabric = 'old'", "('region_size','credit_stall',3,32,60,115200000,0)"},
	{16, "SELECT toString((region_id, severity, toUnixTimestamp(first), toUnixTimestamp(last), last_ms, intervals, max_size, max_mean, links)) FROM region_hours WHERE fabric = 'old'",
		"(5,'High',3600,7140,60000,60,32,31.5,[0,1])"},
	{16, "SELECT toString((measured, percent_sums, percent_maxima, rate_averages)) FROM link_minutes WHERE fabric = 'old'", "([5,0],[6000,0],[1500,0],[])"},
	{16, "SELECT toString((measured, percent_sums, rate_averages, rate_maxima)) FROM link_hours WHERE fabric = 'old'", "([60,0],[],[1000,0],[2000,0])"},
	{17, "SELECT toString((agent, run_id, status, trigger, mode, region_id, model, state, probes, bottlenecks, accused, confidences, sentence, rnics, endpoints, gbps, baseline_gbps, report)) FROM hostping_runs WHERE fabric = 'old'",
		"('n1','R1','done','command','full',5,'m','idle',20,['memory_channel_failure'],['numa1'],[0.75],'n1: slow',['mlx5_0'],['numa1'],[60],[100],'{}')"},
	{17, "SELECT toString((model, agent, run_id, pairs, document)) FROM hostping_baselines WHERE fabric = 'old'", "('m','n1','R0',1,'{}')"},
	{19, "SELECT toString((job_id, run_id, agent, toUnixTimestamp(begin), format, ranks, iterations, makespan_ns, expected_ns, classes, flows, objects, costs_ns, confidences, stopped_ranks, text, document)) FROM collective_runs WHERE fabric = 'old'",
		"('17','collective.17.x','n1',1100,'simulated',8,3,1000000000,900000000,['background_flow'],['h1->h2'],['switch 3 port 1'],[100000000],[0.9],[2],'slow','{}')"},
	{9, "SELECT verified FROM command_results WHERE fabric = 'old' AND command_id != 'c20'", ""},
	{20, "SELECT verified FROM command_results WHERE fabric = 'old' AND command_id = 'c20'", "valid"},
	{12, "SELECT toString((root_peer, root_kind)) FROM regions WHERE fabric = 'old' AND time = toDateTime64(720, 3)", "('','')"},
	{20, "SELECT toString((root_device, root_port, root_link, root_peer, root_kind)) FROM regions WHERE fabric = 'old' AND time = toDateTime64(1200, 3)", "('a','X+',1,'b','incast')"},
	{20, "SELECT toString(unread) FROM regions WHERE fabric = 'old' AND time = toDateTime64(1200, 3)", "0"},
	{21, "SELECT toString(unread) FROM regions WHERE fabric = 'old' AND time = toDateTime64(1260, 3)", "4"},
	{18, "SELECT toString((measured, percent_sums)) FROM link_days WHERE fabric = 'old'", "([1440,0],[6000,0])"},
	{18, "SELECT toString((graph_version, revision)) FROM current_intervals WHERE fabric = 'again' AND time = toDateTime64(1080, 3)", "(8,1)"},
	{18, "SELECT toString((link, value)) FROM link_values WHERE fabric = 'again' AND metric = 'inq_stall' AND time = toDateTime64(1080, 3)", "(0,2)"},
	{18, "SELECT toString((state_after, regions)) FROM region_transitions WHERE fabric = 'again' AND metric = 'inq_stall'", "(3,2)"},
}

// Tables with rows, created by every schema and filled by the writers up to it, are
// migrated; their rows are read, and new ones stored beside them.
func TestUpgradeFromEveryEarlierSchema(t *testing.T) {
	e := enginetest.Start(t)
	steps := ownMigrations(t)
	for have := range len(steps) + 1 {
		db := freshDatabase(t, e, fmt.Sprintf("from_%d", have), DefaultConfig())
		if err := db.migrator().applySteps(t.Context(), ownMigrations(t)[:have]); err != nil {
			t.Fatalf("schema %d: %v", have, err)
		}
		for schema := 1; schema <= have; schema++ {
			run(t, db, fmt.Sprintf("testdata/writers/%04d.sql", schema))
		}
		if err := db.Migrate(t.Context()); err != nil {
			t.Fatalf("from schema %d: %v", have, err)
		}
		if err := db.Store(t.Context(), someResult("bw", 1, 1000)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(wantContents(1), contents(t, db, "bw")); diff != "" {
			t.Errorf("from schema %d: %s", have, diff)
		}
		for _, w := range written {
			if w.since <= have {
				if got := row(t, db, w.query); got != w.want {
					t.Errorf("from schema %d: %s: got %s, want %s", have, w.query, got, w.want)
				}
			}
		}
		checkOldStates(t, db, have)
		status, err := db.MigrationStatus(t.Context())
		if err != nil || len(status) != len(steps) {
			t.Fatalf("from schema %d: status %+v, %v", have, status, err)
		}
		for _, s := range status {
			if s.AppliedAt.IsZero() || s.Fault != "" {
				t.Errorf("from schema %d: %+v", have, s)
			}
		}
	}
}

func checkOldStates(t *testing.T, db testDB, have int) {
	t.Helper()
	got, err := db.LastStates(t.Context(), "old", 9*minute)
	if have < 5 {
		if !isNotFound(err) {
			t.Errorf("from schema %d: states %+v, %v", have, got, err)
		}
		return
	}
	// The state in one piece belongs to an interval of 30 s, according to its own row.
	want := SavedStates{7, schema.Interval{StartNanos: 5 * minute, DurationNanos: minute / 2}, []schema.StageState{{Stage: "all", Version: 1, Bytes: []byte("all that was known")}}}
	if have >= 7 {
		want = SavedStates{7, schema.Interval{StartNanos: 7 * minute, DurationNanos: minute}, []schema.StageState{{Stage: "hotspots", Version: 1, Bytes: []byte("hot")}, {Stage: "track", Version: 2, Bytes: []byte("tracked")}}}
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("from schema %d: states: %v %s", have, err, diff)
	}
}
