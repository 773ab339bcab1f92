//go:build integration

package app

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/giverny/giverny/internal/test/await"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store"
	"github.com/giverny/giverny/topology/topologytest"
)

// shareKeys are the unique keys of the tables, over all revisions.
var shareKeys = map[string]string{
	"intervals":       "fabric, time, graph_version, revision",
	"link_samples":    "fabric, metric, block, time, graph_version, revision",
	"regions":         "fabric, time, graph_version, rank, revision",
	"network_states":  "fabric, metric, time, graph_version, revision",
	"events":          "fabric, interval_start, graph_version, rank, revision",
	"port_readings":   "fabric, device, port, time, graph_version, revision",
	"fabrics":         "fabric, graph_version",
	"devices":         "fabric, graph_version, device",
	"links":           "fabric, graph_version, link",
	"analysis_states": "fabric, time, graph_version, stage, revision",
	"commands":        "fabric, id, digest",
	"command_results": "fabric, command_id, agent, status",
}

// shareResult is the counts of the checks.
type shareResult struct {
	intervals, doubled, late, announced, announcedTwice int
}

// check compares the tables, the topic of regions and the history of the inserts with
// the input in Kafka.
func (s *sharing) check(l *shareLoad, until int64, walk *shareWalk) {
	t := s.t
	t.Helper()
	conn, err := clickhouse.Open(s.engine.Options(store.DefaultDatabase))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var found shareResult
	for _, f := range s.fabrics {
		found.intervals += s.checkFabric(conn, f, l.acked[f], until)
	}
	found.doubled = s.checkDoubles(conn)
	s.checkEvents(conn)
	found.late = s.checkOwners()
	s.checkAnnouncements(l, until, &found)
	var times []string
	for _, f := range shareFaults {
		times = append(times, fmt.Sprintf("%s %s", f.name, median(walk.times[f.name])))
	}
	t.Logf("chaos: killed, froze or stopped owners %d times; 3 processes, %d fabrics: %d intervals of %s there, exact, once; doubled rows %d; %d late writes dropped; %d announcements, %d twice; taken over after (median, most): %s; session timeout %v",
		walk.thrown, len(s.fabrics), found.intervals, shareTopology, found.doubled, found.late, found.announced, found.announcedTwice, strings.Join(times, ", "), s.session)
}

func median(times []time.Duration) string {
	if len(times) == 0 {
		return "none"
	}
	sorted := slices.Sorted(slices.Values(times))
	return fmt.Sprintf("%.1f s, %.1f s of %d", sorted[len(sorted)/2].Seconds(), sorted[len(sorted)-1].Seconds(), len(sorted))
}

// checkFabric requires every interval between two polls acknowledged by Kafka, with
// every link's values.
func (s *sharing) checkFabric(conn driver.Conn, fabric string, acked []int64, until int64) (whole int) {
	t := s.t
	graph := topologytest.Parse(t, fabric, shareTopology)
	stored := map[schema.Metric]map[int64][]*uint16{}
	for m, share := range map[schema.Metric]float64{schema.CreditStall: 1, schema.InqStall: .5} {
		stored[m] = s.samples(conn, fabric, m)
		for nanos, values := range stored[m] {
			if len(values) != graph.NumLinks() {
				t.Errorf("%s, interval at %d: %s of %d links, want %d", fabric, nanos, m, len(values), graph.NumLinks())
				continue
			}
			if !polled(acked, nanos, until) {
				continue
			}
			for l, v := range values {
				if want := share * sharePercent(graph.NumLinks())(schema.LinkID(l)); v == nil || math.Abs(float64(*v)/100-want) > .011 {
					t.Errorf("%s, interval at %d, link %d: %s is missing or wrong, want %v", fabric, nanos, l, m, want)
					break
				}
			}
		}
	}
	for i := 1; i < len(acked) && acked[i] <= until; i++ {
		for start := acked[i-1]; start < acked[i] && acked[i]-acked[i-1] <= maxGap; start += 1e9 {
			if stored[schema.CreditStall][start] == nil || stored[schema.InqStall][start] == nil {
				t.Errorf("%s: the interval at %d is missing", fabric, start)
				continue
			}
			whole++
		}
	}
	if whole < walkIntervals {
		t.Errorf("%s: only %d whole intervals", fabric, whole)
	}
	return whole
}

// maxGap is the longest time between two polls that gives rates; a busy machine polls late.
const maxGap = 3e9

// polled reports whether polls before and after an interval give its rates.
func polled(acked []int64, start, until int64) bool {
	after, _ := slices.BinarySearch(acked, start+1e9)
	before, exact := slices.BinarySearch(acked, start)
	if !exact {
		before--
	}
	if before < 0 || after == len(acked) || acked[after] > until {
		return false
	}
	for i := before; i < after; i++ {
		if acked[i+1]-acked[i] > maxGap {
			return false
		}
	}
	return true
}

// walkIntervals is the minimum number of intervals of a valid walk.
const walkIntervals = 20

// samples returns the values of all links, in hundredths of a percent, for each visible
// interval.
func (s *sharing) samples(conn driver.Conn, fabric string, m schema.Metric) map[int64][]*uint16 {
	s.t.Helper()
	rows, err := conn.Query(s.t.Context(), `SELECT toInt64(toUnixTimestamp64Milli(time)) * 1000000, percents FROM link_samples
		WHERE fabric = {fabric:String} AND metric = {metric:String}
		AND (time, revision) IN (SELECT time, max(revision) FROM intervals WHERE fabric = {fabric:String} GROUP BY time)`,
		clickhouse.Named("fabric", fabric), clickhouse.Named("metric", m.String()))
	if err != nil {
		s.t.Fatal(err)
	}
	defer rows.Close()
	samples := map[int64][]*uint16{}
	for rows.Next() {
		var nanos int64
		var values []*uint16
		if err := rows.Scan(&nanos, &values); err != nil {
			s.t.Fatal(err)
		}
		if samples[nanos] != nil {
			s.t.Errorf("%s: %s of the interval at %d is there twice", fabric, m, nanos)
		}
		samples[nanos] = values
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	return samples
}

// checkDoubles requires unique keys in every table.
func (s *sharing) checkDoubles(conn driver.Conn) (sum int) {
	s.t.Helper()
	for table, key := range shareKeys {
		var n int64
		if err := conn.QueryRow(s.t.Context(), "SELECT toInt64(count()) - toInt64(uniqExact("+key+")) FROM "+table).Scan(&n); err != nil {
			s.t.Fatalf("%s: %v", table, err)
		}
		if n != 0 {
			s.t.Errorf("%s: %d rows are doubled", table, n)
		}
		sum += int(n)
	}
	return sum
}

// checkEvents requires that no event is repeated, by any owner.
func (s *sharing) checkEvents(conn driver.Conn) {
	s.t.Helper()
	var events, distinct uint64
	err := conn.QueryRow(s.t.Context(), "SELECT count(), uniqExact(fabric, kind, region_id, device, port, time) FROM events").Scan(&events, &distinct)
	if err != nil || events == 0 || events != distinct {
		s.t.Errorf("%d events, %d of them different, want all of at least one; %v", events, distinct, err)
	}
}

// awaitAudit waits until every command and result is audited; checkDoubles checks for
// duplicates.
func (s *sharing) awaitAudit(orders map[string]int) {
	s.t.Helper()
	conn, err := clickhouse.Open(s.engine.Options(store.DefaultDatabase))
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	missing := 0
	if !await.Holds(time.Minute, 200*time.Millisecond, func() bool {
		missing = 0
		for fabric, want := range orders {
			for _, key := range []string{"id) FROM commands", "command_id) FROM command_results"} {
				var n uint64
				if err := conn.QueryRow(s.t.Context(), "SELECT uniqExact("+key+" WHERE fabric = {fabric:String}", clickhouse.Named("fabric", fabric)).Scan(&n); err != nil {
					s.t.Fatal(err)
				}
				missing += max(0, want-int(n))
			}
		}
		return missing == 0
	}) {
		s.t.Errorf("%d commands and results are not in the audit", missing)
	}
}

// checkOwners checks the history of all inserts. No analyser may write to an interval
// that another has stored, except for writes delayed by the test; it stores intervals
// of a fabric only after it has announced taking it over, and in order.
func (s *sharing) checkOwners() (late int) {
	t := s.t
	t.Helper()
	type interval struct {
		fabric      string
		startMillis int64
	}
	stored := map[interval]insertion{}
	for _, m := range s.history.stored() {
		if at := (interval{m.fabric, m.startMillis}); !m.held {
			stored[at] = m
		}
	}
	s.history.mu.Lock()
	writes := slices.Clone(s.history.writes)
	s.history.mu.Unlock()
	for _, w := range writes {
		if w.held {
			late++
			continue
		}
		if m, there := stored[interval{w.fabric, w.startMillis}]; there && m.by != w.by && w.sent.After(m.done) {
			t.Errorf("%s is written by analyser %d, %v after analyser %d had stored the interval", w.token, w.by, w.sent.Sub(m.done), m.by)
		}
	}
	runs := make([]map[string]int, len(s.analysers))
	owner, newest := map[string]int{}, map[string]int64{}
	for _, m := range s.history.stored() {
		if m.held {
			continue
		}
		if was, there := owner[m.fabric]; !there || was != m.by {
			if runs[m.by] == nil {
				runs[m.by] = map[string]int{}
			}
			runs[m.by][m.fabric]++
			owner[m.fabric] = m.by
		}
		if m.startMillis <= newest[m.fabric] {
			t.Errorf("%s: the interval at %d is stored after that at %d, by analyser %d", m.fabric, m.startMillis, newest[m.fabric], m.by)
		}
		newest[m.fabric] = m.startMillis
	}
	for _, a := range s.analysers {
		taken := a.takeovers()
		for fabric, n := range runs[a.n] {
			if n > taken[fabric] {
				t.Errorf("analyser %d stores intervals of %s in %d stretches and took it over %d times", a.n, fabric, n, taken[fabric])
			}
		}
	}
	return late
}

// remembered is how long an unseen region keeps its identity: two intervals by default, and its own.
const remembered = 3e9

// checkAnnouncements requires every stored interval in the topic of regions, with the
// same regions from every owner.
func (s *sharing) checkAnnouncements(l *shareLoad, until int64, found *shareResult) {
	t := s.t
	t.Helper()
	type key struct {
		fabric   string
		start    int64
		revision uint32
	}
	want := map[string]int{}
	for _, m := range s.history.stored() {
		if start := m.startMillis * 1e6; start < until {
			want[fmt.Sprint(m.fabric, "/", start)]++
		}
	}
	missing := 0
	if !await.Holds(sharePatience, 100*time.Millisecond, func() bool {
		l.mu.Lock()
		said := map[string]bool{}
		for _, a := range l.announced {
			said[fmt.Sprint(a.fabric, "/", a.start)] = true
		}
		l.mu.Unlock()
		missing = 0
		for k := range want {
			if !said[k] {
				missing++
			}
		}
		return missing == 0
	}) {
		t.Errorf("%d of %d stored intervals are not announced", missing, len(want))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	times, newest := map[key]int{}, map[string]int64{}
	regions, seen := map[string]string{}, map[string]int64{} // the last ones announced, and when
	for _, a := range l.announced {
		k := key{a.fabric, a.start, a.revision}
		if times[k]++; times[k] > 1 {
			found.announcedTwice++
			t.Errorf("%s: the interval at %d is announced %d times", a.fabric, a.start, times[k])
		} else if a.start < newest[a.fabric] {
			t.Errorf("%s: the interval at %d is announced after that at %d", a.fabric, a.start, newest[a.fabric])
		}
		newest[a.fabric] = a.start
		found.announced++
		if a.regions == "" {
			continue
		}
		if was := regions[a.fabric]; was != "" && was != a.regions && a.start-seen[a.fabric] <= remembered {
			t.Errorf("%s: regions %s at %d, were %s", a.fabric, a.regions, a.start, was)
		}
		regions[a.fabric], seen[a.fabric] = a.regions, a.start
	}
	for _, f := range s.fabrics {
		if regions[f] == "" {
			t.Errorf("%s: no region was announced", f)
		}
	}
}
