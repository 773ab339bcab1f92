//go:build engine || integration

package store

import (
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/giverny/giverny/internal/test/await"
	"github.com/giverny/giverny/store/engine"
	"github.com/giverny/giverny/store/engine/enginetest"
)

// faulty is a transport between a DB and the engine. around may answer instead.
type faulty struct {
	next   http.RoundTripper
	n      atomic.Int64 // requests so far
	around func(n int64, r *http.Request, next http.RoundTripper) (*http.Response, error)
}

func (f *faulty) RoundTrip(r *http.Request) (*http.Response, error) {
	return f.around(f.n.Add(1), r, f.next)
}

func withFault(opts *clickhouse.Options, around func(n int64, r *http.Request, next http.RoundTripper) (*http.Response, error)) *clickhouse.Options {
	own := *opts
	own.TransportFunc = func(t *http.Transport) (http.RoundTripper, error) { return &faulty{next: t, around: around}, nil }
	return &own
}

func exception(text string) *http.Response {
	return &http.Response{StatusCode: http.StatusInternalServerError, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text))}
}

// killChild ends the engine's process like a fault in the library.
func killChild(t *testing.T) {
	t.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil || len(lists) == 0 {
		t.Fatalf("the kernel does not list children: %v", err)
	}
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // the thread has ended
		}
		for pid := range strings.FieldsSeq(string(text)) {
			n, err := strconv.Atoi(pid)
			if err == nil {
				err = syscall.Kill(n, syscall.SIGKILL)
			}
			if err != nil && !errors.Is(err, syscall.ESRCH) { // the previous one is only now reaped
				t.Error(err)
			}
		}
	}
}

// The engine dies at arbitrary moments while the writer continues.
func TestExactlyOnceThroughKills(t *testing.T) {
	cfg := enginetest.Config(t)
	cfg.MinBackoff, cfg.MaxBackoff = time.Millisecond, time.Millisecond
	e := enginetest.Run(t, cfg, engine.Deps{Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})
	db := openDB(t, e.Options(""), quickRetries())
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	var killing sync.WaitGroup
	done := make(chan struct{})
	killing.Go(func() {
		defer close(done)
		for range 8 {
			time.Sleep(time.Duration(200+rand.IntN(300)) * time.Millisecond)
			killChild(t)
		}
	})
	defer killing.Wait()
	n := uint64(0)
	for going := true; going; {
		select {
		case <-done:
			going = false // after one more interval
		default:
		}
		n++
		if err := db.Store(t.Context(), someResult("bw", int64(n), 1000)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(wantContents(n), contents(t, db, "bw")); diff != "" {
		t.Error(diff)
	}
	if count(db.metrics.retries.WithLabelValues(reasonUnreachable)) == 0 {
		t.Error("no kill was ever in the way of an insert")
	}
}

// Every response is lost once on the way back: the writer cannot know whether
// its insert was executed, and sends it again.
func TestExactlyOnceThroughLostAnswers(t *testing.T) {
	e := enginetest.Start(t)
	migrated := openDB(t, e.Options(""), DefaultConfig())
	if err := migrated.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	db := openDB(t, withFault(e.Options(""), func(n int64, r *http.Request, next http.RoundTripper) (*http.Response, error) {
		answer, err := next.RoundTrip(r)
		if insert := strings.Contains(r.URL.RawQuery, "INSERT"); err == nil && insert && n%3 != 0 {
			io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
			return nil, errors.New("the answer is lost")
		}
		return answer, err
	}), quickRetries())
	for n := int64(1); n <= 3; n++ {
		if err := db.Store(t.Context(), someResult("bw", n, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(wantContents(3), contents(t, migrated, "bw")); diff != "" {
		t.Error(diff)
	}
	if n := count(db.metrics.retries.WithLabelValues(reasonUnreachable)); n < 5 {
		t.Errorf("%v retries: the test no longer does what it says", n)
	}
}

func TestStoreOutlastsEveryFault(t *testing.T) {
	e := enginetest.Start(t)
	migrated := openDB(t, e.Options(""), DefaultConfig())
	if err := migrated.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	n := int64(0)
	for text, reason := range map[string]string{
		"Code: 243. DB::Exception: Cannot reserve 1.00 MiB, not enough space. (NOT_ENOUGH_SPACE)":                                        reasonDiskFull,
		"Code: 75. DB::Exception: Cannot write to file, errno: 28, strerror: No space left on device. (CANNOT_WRITE_TO_FILE_DESCRIPTOR)": reasonDiskFull,
		"Code: 252. DB::Exception: Too many parts (3000). (TOO_MANY_PARTS)":                                                              reasonOverloaded,
		"Code: 516. DB::Exception: default: Authentication failed. (AUTHENTICATION_FAILED)":                                              reasonRefused,
		"Code: 60. DB::Exception: Table giverny.intervals does not exist. (UNKNOWN_TABLE)":                                               reasonSchema,
		"Code: 49. DB::Exception: Oops. (LOGICAL_ERROR)":                                                                                 reasonOther,
		"bad gateway": reasonUnreachable,
	} {
		n++
		healthy := atomic.Bool{}
		db := openDB(t, withFault(e.Options(""), func(_ int64, r *http.Request, next http.RoundTripper) (*http.Response, error) {
			if healthy.Load() {
				return next.RoundTrip(r)
			}
			return exception(text), nil
		}), quickRetries())
		stored := make(chan error)
		go func() { stored <- db.Store(t.Context(), someResult("bw", n, 1000)) }()
		retries := db.metrics.retries.WithLabelValues(reason)
		await.Until(t, text+" to be counted as "+reason, time.Minute, time.Millisecond, func() bool { return count(retries) >= 3 })
		if err := db.Ready(); err == nil || !strings.Contains(err.Error(), text[len(text)-8:]) {
			t.Errorf("%s: Ready is %v", text, err)
		}
		healthy.Store(true)
		if err := <-stored; err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if err := db.Ready(); err != nil {
			t.Errorf("%s: not ready afterwards: %v", text, err)
		}
	}
	if diff := cmp.Diff(wantContents(uint64(n)), contents(t, migrated, "bw")); diff != "" {
		t.Error(diff)
	}
}

// The engine itself reports that the disk is full, and accepts the interval once
// there is room.
func TestStoreWaitsForRoomOnTheDisk(t *testing.T) {
	e := enginetest.Start(t)
	db := openDB(t, e.Options(""), quickRetries())
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	need := func(bytes string) {
		if err := db.conn.Exec(t.Context(), "ALTER TABLE regions MODIFY SETTING min_free_disk_bytes_to_perform_insert = "+bytes); err != nil {
			t.Fatal(err)
		}
	}
	need("9000000000000000000")
	stored := make(chan error)
	go func() { stored <- db.Store(t.Context(), someResult("bw", 1, 1000)) }()
	for count(db.metrics.retries.WithLabelValues(reasonDiskFull)) < 3 {
		select {
		case err := <-stored:
			t.Fatalf("stored without room: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	if err := db.Ready(); err == nil || !strings.Contains(err.Error(), "NOT_ENOUGH_SPACE") {
		t.Errorf("Ready is %v", err)
	}
	if n := contents(t, db, "bw")[marker.name][0]; n != 0 {
		t.Error("half an interval is visible")
	}
	need("0")
	if err := <-stored; err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantContents(1), contents(t, db, "bw")); diff != "" {
		t.Error(diff)
	}
}

// A process that only queries, as serve does, knows too that the store is away. A query that the server rejects says nothing
// of that kind.
func TestQueriesShowWhetherTheStoreIsReady(t *testing.T) {
	e := enginetest.Start(t)
	var away atomic.Bool
	db := openDB(t, withFault(e.Options(""), func(_ int64, r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if away.Load() {
			return nil, errors.New("connection refused")
		}
		return next.RoundTrip(r)
	}), quickRetries())
	if err := errors.Join(db.Migrate(t.Context()), db.Ping(t.Context())); err != nil {
		t.Fatal(err)
	}
	query := func(when, sql string, down, fails bool, ready float64) {
		t.Helper()
		away.Store(down)
		err := db.Select(t.Context(), Question{Name: "test", SQL: sql}, &[]struct {
			N uint8 `ch:"n"`
		}{})
		var gauge dto.Metric
		if err := db.metrics.ready.Write(&gauge); err != nil {
			t.Fatal(err)
		}
		if (err != nil) != fails || gauge.GetGauge().GetValue() != ready || (db.Ready() == nil) != (ready == 1) {
			t.Errorf("%s: %v; giverny_store_ready is %v, %v", when, err, gauge.GetGauge().GetValue(), db.Ready())
		}
	}
	query("it answers", "SELECT 1 AS n", false, false, 1)
	query("it is away", "SELECT 1 AS n", true, true, 0)
	query("it is back", "SELECT 1 AS n", false, false, 1)
	query("it rejects a query", "SELECT nonsense AS n", false, true, 1)
	query("it is away again", "SELECT 1 AS n", true, true, 0)
	query("it is back and rejects a query", "SELECT nonsense AS n", false, true, 1)
}

func TestFailedRollUpsAreCounted(t *testing.T) {
	db := migratedDB(t)
	if err := db.conn.Exec(t.Context(), "DROP TABLE rollups"); err != nil {
		t.Fatal(err)
	}
	for n := range uint64(4) {
		if err := db.Store(t.Context(), someResult("bw", int64(60*n), 10)); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.KeepRolledUp(t.Context(), "bw"); err == nil || count(db.metrics.rollUpFailures.WithLabelValues("bw")) != 1 || db.Ready() != nil {
		t.Errorf("%v, failures counted otherwise than once, or not ready: %v", err, db.Ready())
	}
}

// A store that cannot be migrated is not ready, though it answers.
func TestAStoreThatIsNotMigratedIsNotReady(t *testing.T) {
	e := enginetest.Start(t)
	db := openDB(t, e.Options(""), DefaultConfig())
	if err := enginetest.Connect(t, e, "default").Exec(t.Context(), "CREATE DATABASE "+DefaultDatabase+" ENGINE = Atomic"); err != nil {
		t.Fatal(err)
	}
	if err := db.Ping(t.Context()); err != nil || db.CheckReady(t.Context()) == nil {
		t.Errorf("it answers (%v) and has no tables, but is ready", err)
	}
	if err := db.Migrate(t.Context()); err != nil || db.Ready() != nil {
		t.Fatal(err, db.Ready())
	}
	if err := db.conn.Exec(t.Context(), "INSERT INTO giverny_migrations SELECT 9999, 'later', 'x', now()"); err != nil {
		t.Fatal(err)
	}
	if err := db.Migrate(t.Context()); err == nil || db.CheckReady(t.Context()) == nil {
		t.Errorf("%v, ready %v", err, db.Ready())
	}
}
