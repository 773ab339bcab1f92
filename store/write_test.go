//go:build engine || integration

package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/giverny/giverny/internal/fence"
	"github.com/giverny/giverny/schema"
)

// The views unpack the tables into readable rows.
func TestViewsOfWhatIsStored(t *testing.T) {
	db := migratedDB(t)
	r := someResult("bw", 2, 1300)
	if err := db.Store(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	inq, sum := &r.Snapshot.Series[1], 0.0
	for i, v := range inq.Values {
		if inq.Valid.Has(i) {
			sum += math.Round(float64(v)*100) / 100
		}
	}
	for query, want := range map[string]string{
		"SELECT toString((count(), round(sum(value), 2))) FROM link_values WHERE fabric = 'bw' AND metric = 'inq_stall' AND time = toDateTime64(120, 3)":              fmt.Sprintf("(%d,%.2f)", inq.Count, sum),
		"SELECT counter || ' of ' || device || '/' || port || ': ' || toString(value) FROM counter_readings WHERE interval_start = toDateTime64(120, 3) ORDER BY ALL": "ib.symbol_error of a/1: 1; ib.symbol_error of b/2: 2; new.thing of b/2: 9223372036854775808",
	} {
		if got := row(t, db, query); got != want {
			t.Errorf("%s: got %s, want %s", query, got, want)
		}
	}
}

// contents counts, for every table, rows and distinct keys of a fabric.
func contents(t *testing.T, db testDB, fabric string) map[string][2]uint64 {
	t.Helper()
	out := map[string][2]uint64{}
	for table, keys := range map[string]string{
		"link_samples": "metric, block, time, graph_version", "regions": "time, graph_version, rank", "network_states": "time, graph_version, metric",
		"jobs": "interval_start, job_id, start", "failures": "interval_start, time", "job_traffic": "job_id, time", "mitigations": "time, begin", "diagnoses": "time, graph_version, rank",
		"events": "interval_start, graph_version, rank", "port_readings": "device, port, time", "intervals": "time, graph_version",
	} {
		var rows, distinct uint64
		query := fmt.Sprintf("SELECT count(), uniqExact(%s) FROM %s WHERE fabric = '%s'", keys, table, fabric)
		if err := db.conn.QueryRow(context.Background(), query).Scan(&rows, &distinct); err != nil {
			t.Fatal(err)
		}
		out[table] = [2]uint64{rows, distinct}
	}
	return out
}

// wantContents is the contents after n intervals of someResult(_, _, 1000).
func wantContents(n uint64) map[string][2]uint64 {
	out := map[string][2]uint64{}
	for table, perInterval := range map[string]uint64{"jobs": 2, "failures": 1, "job_traffic": 2, "diagnoses": 1, "mitigations": 1, "link_samples": 6, "regions": 2, "network_states": 2, "events": 2, "port_readings": 2, "intervals": 1} {
		out[table] = [2]uint64{n * perInterval, n * perInterval}
	}
	return out
}

// No statement of a process that may no longer write reaches the store: it stops in the middle of an interval, and its successor stores the interval
// once.
func TestWritesAreFenced(t *testing.T) {
	successor, inserts := migratedDB(t), 0
	db := openDB(t, withFault(successor.opts, func(_ int64, r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if strings.HasPrefix(r.URL.Query().Get("query"), "INSERT") {
			inserts++
		}
		return next.RoundTrip(r)
	}), quickRetries())
	lost := errors.New("another owns it")
	ctx, end := context.WithCancel(t.Context())
	defer end()
	err := db.Store(fence.With(ctx, func() error {
		if inserts < 2 {
			return nil
		}
		end()
		return lost
	}), someResult("f", 1, 1000))
	if !errors.Is(err, context.Canceled) || inserts != 2 || db.Ready() != nil {
		t.Errorf("%d inserts, want 2; %v; the store is ready, but: %v", inserts, err, db.Ready())
	}
	if err := successor.Store(t.Context(), someResult("f", 1, 1000)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantContents(1), contents(t, successor, "f")); diff != "" {
		t.Error(diff)
	}
}

// A revision is stored beside the previous one, once, whichever process stores it.
func TestRevisionsAreStoredOnce(t *testing.T) {
	db, ctx := migratedDB(t), context.Background()
	again := openDB(t, db.opts, DefaultConfig())
	for _, n := range []int64{1, 2, 1, 1, 2, 2} {
		for revision := range uint32(2) {
			for _, db := range []testDB{db, again} {
				r := someResult("bw", n, 1000)
				r.Revision = revision
				if err := db.Store(ctx, r); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for table, want := range wantContents(2) {
		if got := contents(t, db, "bw")[table]; got[0] != 2*want[0] {
			t.Errorf("%s has %d rows, want %d of each revision", table, got[0], want[0])
		}
	}
}

func TestStoreTwiceIsOnce(t *testing.T) {
	db, ctx := migratedDB(t), context.Background()
	again := openDB(t, db.opts, DefaultConfig())
	for _, n := range []int64{1, 2, 2, 1, 3} {
		for _, db := range []testDB{db, again} {
			if err := db.Store(ctx, someResult("bw", n, 1000)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if diff := cmp.Diff(wantContents(3), contents(t, db, "bw")); diff != "" {
		t.Error(diff)
	}
	if n := count(db.metrics.intervals.WithLabelValues(resultAlready)); n != 2 {
		t.Errorf("%v intervals were there already, want 2", n)
	}
}

// Tokens expire; what an interrupted Store has left must then be found in the
// tables.
func TestStoreGoesOnWhereItWasCutOffWithoutTokens(t *testing.T) {
	db, ctx := openDB(t, shared.Options("without_tokens"), DefaultConfig()), context.Background()
	if err := db.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		if err := db.conn.Exec(ctx, "ALTER TABLE "+table.name+" MODIFY SETTING non_replicated_deduplication_window = 0"); err != nil {
			t.Fatal(err)
		}
	}
	r := someResult("bw", 1, 1000)
	k := keyOf(r)
	for _, table := range tables[:3] {
		if err := db.writer.insert(ctx, table.name, table.rowsOf(r, rowMeta{k, db.now()}, db.metrics), k, 0); err != nil {
			t.Fatal(err)
		}
	}
	if n := contents(t, db, "bw")[marker.name][0]; n != 0 {
		t.Error("half an interval is visible")
	}
	if err := db.Store(ctx, r); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantContents(1), contents(t, db, "bw")); diff != "" {
		t.Error(diff)
	}
}

func TestStoreInChunks(t *testing.T) {
	db, ctx := migratedDB(t), context.Background()
	r := someResult("bw", 1, 1000)
	const ports = 130_000 // two counters of each, stored raw
	b := &schema.CounterBatch{Columns: []schema.CounterColumn{{Name: "x.a"}, {Name: "x.b"}}}
	for p := range uint32(ports) {
		b.Ports = append(b.Ports, schema.PortName{Device: fmt.Sprint(p), Port: "1"})
		b.PortIndex, b.TimeNanos = append(b.PortIndex, p), append(b.TimeNanos, minute)
		for c := range b.Columns {
			b.Columns[c].Values = append(b.Columns[c].Values, uint64(p))
		}
	}
	r.Raw = []*schema.CounterBatch{b}
	k, readings := keyOf(r), tables[4]
	rows := readings.rowsOf(r, rowMeta{k, db.now()}, db.metrics)
	if err := db.writer.insert(ctx, readings.name, rows.slice(0, rowsPerInsert), k, 99); err != nil {
		t.Fatal(err)
	}
	if err := db.Store(ctx, r); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, db, "bw")["port_readings"]; got != [2]uint64{ports, ports} {
		t.Errorf("port_readings has %v rows and distinct rows, want %d", got, ports)
	}
}

// Nothing was measured: the interval is still stored, because otherwise every
// restart would wait for it.
func TestStoreAnEmptyInterval(t *testing.T) {
	db, ctx := migratedDB(t), context.Background()
	snap := &schema.Snapshot{Fabric: "bw", GraphVersion: 1, Links: 600, Interval: schema.Interval{StartNanos: minute, DurationNanos: minute},
		Series: []schema.Series{{Metric: schema.InqStall, Values: make([]float32, 600), Valid: schema.NewBitmap(600)}}}
	if err := db.Store(ctx, &schema.IntervalResult{Snapshot: snap}); err != nil {
		t.Fatal(err)
	}
	snap.Series, snap.Interval = nil, snap.Interval.Next()
	if err := db.Store(ctx, &schema.IntervalResult{Snapshot: snap}); err != nil {
		t.Fatal(err)
	}
}

// An interval in which the graph changed is stored once per version.
func TestStoreTwoVersionsOfAnInterval(t *testing.T) {
	db, ctx := migratedDB(t), context.Background()
	before, after := someResult("bw", 1, 1000), someResult("bw", 1, 1000)
	after.Snapshot.GraphVersion = 9
	for _, r := range []*schema.IntervalResult{before, after, before, after} {
		if err := db.Store(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	want := wantContents(2)
	want["port_readings"] = [2]uint64{4, 2} // the key is the reading's
	want["mitigations"] = [2]uint64{2, 1}   // likewise: none of these has a version
	want["jobs"], want["failures"], want["job_traffic"] = [2]uint64{4, 2}, [2]uint64{2, 1}, [2]uint64{4, 2}
	if diff := cmp.Diff(want, contents(t, db, "bw")); diff != "" {
		t.Error(diff)
	}
}

func TestNothingKeepsRunning(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("store", func(t *testing.T) {
		db := migratedDB(t)
		if err := db.Store(context.Background(), someResult("bw", 1, 1000)); err != nil {
			t.Fatal(err)
		}
	})
}

// A crash may interrupt a result after its jobs, and the repeated one may have more
// of them: none is lost, and none that was sent both times is duplicated.
func TestFactsOfAResultThatWasCutOff(t *testing.T) {
	db, ctx := migratedDB(t), context.Background()
	first := someResult("bw", 1, 10)
	rows := facts[0].rowsOf(first, rowMeta{keyOf(first), db.now()}, db.metrics)
	for range 2 {
		if err := db.writer.storeRows(ctx, &facts[0], rows, keyOf(first).ofContent(rows), 0, false); err != nil {
			t.Fatal(err)
		}
	}
	if got := row(t, db, "SELECT toString(count()) FROM jobs"); got != "2" {
		t.Errorf("the same jobs twice: %s rows", got)
	}
	again := someResult("bw", 1, 10)
	again.Jobs = append(again.Jobs, schema.Job{Fabric: "bw", ID: "19", Start: 1})
	if err := db.Store(ctx, again); err != nil {
		t.Fatal(err)
	}
	if got := row(t, db, "SELECT toString(arraySort(groupUniqArray(job_id))) FROM jobs"); got != "['17','18','19']" {
		t.Errorf("jobs %s", got)
	}
}

// An engine that died between the token of an insert and its rows takes the repeated insert for a duplicate. Every table's rows are
// stored nevertheless, once, both by a writer that replays the interval and by one that sends the insert again.
func TestRowsWhoseTokenAloneIsThere(t *testing.T) {
	db := migratedDB(t)
	noteToken := func(of *table, r *schema.IntervalResult) {
		k, elsewhere := keyOf(r), someResult("elsewhere", 1, 1000)
		if rows := of.rowsOf(r, rowMeta{key: k}, db.metrics); slices.ContainsFunc(facts, func(f table) bool { return f.name == of.name }) {
			k = k.ofContent(rows)
		}
		if err := db.writer.insert(context.Background(), of.name, of.rowsOf(elsewhere, rowMeta{keyOf(elsewhere), db.now()}, db.metrics), k, 0); err != nil {
			t.Error(err)
		}
	}
	for _, table := range slices.Concat(tables, facts, []table{marker}) {
		replayed := someResult("replayed "+table.name, 1, 1000)
		noteToken(&table, replayed)
		if err := db.Store(t.Context(), replayed); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(wantContents(1), contents(t, db, replayed.Snapshot.Fabric)); diff != "" {
			t.Errorf("%s: %s", replayed.Snapshot.Fabric, diff)
		}

		fabric, dies := "sent again "+table.name, false
		again := openDB(t, withFault(db.opts, func(_ int64, r *http.Request, next http.RoundTripper) (*http.Response, error) {
			if dies && strings.HasPrefix(r.URL.Query().Get("query"), "INSERT INTO "+table.name+" ") {
				dies = false
				noteToken(&table, someResult(fabric, 2, 1000))
				return nil, errors.New("the engine has died")
			}
			return next.RoundTrip(r)
		}), quickRetries())
		for n := int64(1); n <= 2; n++ { // the tables are not queried before the second one, which is in order
			dies = n == 2
			if err := again.Store(t.Context(), someResult(fabric, n, 1000)); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(wantContents(2), contents(t, db, fabric)); diff != "" || dies {
			t.Errorf("%s, not cut off %v: %s", fabric, dies, diff)
		}
	}
}

// A table that acknowledges rows and does not keep them holds nothing else back, and its rows are counted.
func TestRowsThatATableDoesNotKeep(t *testing.T) {
	migrated := migratedDB(t)
	inserts := map[string]int{}
	db := openDB(t, withFault(migrated.opts, func(_ int64, r *http.Request, next http.RoundTripper) (*http.Response, error) {
		for _, table := range []string{"jobs", feedbackTable} {
			if strings.HasPrefix(r.URL.Query().Get("query"), "INSERT INTO "+table+" ") {
				inserts[table]++
				return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody}, nil
			}
		}
		return next.RoundTrip(r)
	}), quickRetries())
	r := someResult("bw", 1, 10)
	if err := db.Store(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if got := row(t, migrated, "SELECT toString(((SELECT count() FROM intervals), (SELECT count() FROM jobs), (SELECT count() > 0 FROM failures)))"); got != "(1,0,1)" {
		t.Errorf("intervals, jobs, failures: %s", got)
	}
	dropped := db.metrics.rowsDropped.WithLabelValues(reasonMissing)
	if n := count(dropped); n != float64(len(r.Jobs)) || inserts["jobs"] != mostRepeats+1 {
		t.Errorf("%v rows dropped after %d inserts, want the %d jobs after %d", n, inserts["jobs"], len(r.Jobs), mostRepeats+1)
	}
	if err := db.StoreFeedback(t.Context(), "bw", []schema.FeedbackAction{{Target: "n1"}, {Target: "n2"}}); err != nil {
		t.Fatal(err)
	}
	if n := count(dropped); n != float64(len(r.Jobs)+2) || inserts[feedbackTable] != mostRepeats+1 {
		t.Errorf("%v rows dropped after %d inserts into the audit, want 2 more after %d", n, inserts[feedbackTable], mostRepeats+1)
	}
}

// A diagnosis that JSON cannot encode is dropped alone.
func TestADiagnosisThatCannotBeStored(t *testing.T) {
	db := migratedDB(t)
	r := someResult("bw", 1, 10)
	r.Diagnoses = append(r.Diagnoses, r.Diagnoses[0])
	r.Diagnoses[0].Mean = math.NaN()
	r.Diagnoses[1].Region = 9
	if err := db.Store(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if got := row(t, db, "SELECT toString((region_id, rank)) FROM diagnoses"); got != "(9,0)" {
		t.Errorf("diagnoses %s", got)
	}
	if n := count(db.metrics.valuesDropped.WithLabelValues(reasonNotFinite)); n != 1 {
		t.Errorf("%v counted", n)
	}
}
