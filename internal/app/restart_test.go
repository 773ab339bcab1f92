//go:build integration

package app

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/giverny/giverny/analysis"
	"github.com/giverny/giverny/internal/test/await"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store"
	"github.com/giverny/giverny/store/engine"
	"github.com/giverny/giverny/store/read"
)

const restartTopology = "torus:8x8x8"

// known is the state that a restart must not lose, as of the last stored interval.
type known struct {
	last       read.Stored
	ids        []uint64
	births     []int64
	congestion *schema.CongestionEvent
}

func whatIsKnown(t *testing.T, db *store.DB) (k known) {
	t.Helper()
	var err error
	model := read.New(db)
	if k.last, err = model.LastStored(t.Context(), "load"); err != nil {
		t.Fatal(err)
	}
	tracked, err := model.Result(t.Context(), "load", k.last)
	for range 5 { // a busy machine misses polls, which makes intervals empty
		if err == nil && len(tracked.Regions) == 0 {
			if k.last, err = model.StoredAt(t.Context(), "load", schema.Instant(k.last.StartNanos-1)); err == nil {
				tracked, err = model.Result(t.Context(), "load", k.last)
			}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range tracked.Regions {
		k.ids, k.births = append(k.ids, r.ID), append(k.births, r.BirthNanos)
	}
	slices.Sort(k.ids)
	slices.Sort(k.births)
	k.congestion = tracked.Congestion
	if len(k.ids) == 0 || k.congestion == nil {
		t.Fatalf("the load makes no High region: %d regions, congestion event %v", len(k.ids), k.congestion)
	}
	return k
}

// live runs a process until it has stored some intervals later than all before, and kills it.
func live(t *testing.T, dir, library string, intervals int) {
	t.Helper()
	before := int64(0)
	if _, err := os.Stat(filepath.Join(dir, storedJournal)); err == nil {
		before = slices.Max(readJournal(t, dir, storedJournal))
	}
	child := startLoad(t, dir, library, restartTopology, "hot")
	defer kill9(child)
	if await.Holds(5*time.Minute, 50*time.Millisecond, func() bool {
		_, err := os.Stat(filepath.Join(dir, storedJournal))
		return err == nil && laterThan(before, readJournal(t, dir, storedJournal)) >= intervals
	}) {
		return
	}
	log, _ := os.ReadFile(filepath.Join(dir, "log"))
	t.Fatalf("the process does not store %d intervals; its log:\n%s", intervals, log)
}

// laterThan counts the intervals that end after an instant; a completed one is stored twice.
func laterThan(instant int64, ends []int64) int {
	seen := map[int64]bool{}
	for _, end := range ends {
		if end > instant {
			seen[end] = true
		}
	}
	return len(seen)
}

// A process killed with kill -9 at any time is followed by one that has the same region
// identities, the open congestion event, and the outcomes of earlier forecasts; a
// process that finds a truncated state reports it and rebuilds the identities from the
// stored intervals.
func TestRestartKeepsWhatIsKnown(t *testing.T) {
	dir := t.TempDir()
	library, err := engine.FindLibrary("")
	if err != nil {
		t.Fatal(err)
	}
	live(t, dir, library, analysis.SaveIntervals+4)
	db, _, done := openStore(t, dir, library)
	first := whatIsKnown(t, db)
	done()

	live(t, dir, library, 4)
	db, e, done := openStore(t, dir, library)
	second := whatIsKnown(t, db)
	compareKnown(t, "restarted", first, second)
	if a, b := first.congestion.BeginNanos, second.congestion.BeginNanos; a != b {
		t.Errorf("restarted: the congestion event began at %d, was %d", b, a)
	}
	if skill, err := read.New(db).Figures("load", read.Span{To: read.Newest}).ForecastSkill(t.Context()); err != nil || skill.Next.Forecasts == 0 || skill.Next.Brier >= .5 {
		t.Errorf("forecasts: %+v, %v", skill, err)
	}
	if text := readLog(t, dir); !strings.Contains(text, "learned=true") || strings.Contains(text, "saved state rejected") {
		t.Errorf("the second process does not say that it knows what the first had learned:\n%s", text)
	}
	tear(t, e, db, second)
	done()

	live(t, dir, library, 2)
	db, _, done = openStore(t, dir, library)
	defer done()
	compareKnown(t, "torn", second, whatIsKnown(t, db))
	if text := readLog(t, dir); !strings.Contains(text, "saved state rejected, rebuilding") {
		t.Errorf("the third process does not say that the state is torn:\n%s", text)
	}
}

func compareKnown(t *testing.T, what string, before, after known) {
	t.Helper()
	if after.last.StartNanos <= before.last.StartNanos || !slices.Equal(before.ids, after.ids) || !slices.Equal(before.births, after.births) {
		t.Errorf("%s: regions %v born at %v, were %v born at %v", what, after.ids, after.births, before.ids, before.births)
	}
}

// tear replaces the state by a truncated one.
func tear(t *testing.T, e *engine.Engine, db *store.DB, k known) {
	t.Helper()
	saved, err := db.LastStates(t.Context(), "load", k.last.StartNanos)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := clickhouse.Open(e.Options(store.DefaultDatabase))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.Exec(t.Context(), "TRUNCATE TABLE analysis_states"); err != nil {
		t.Fatal(err)
	}
	for i := range saved.Stages {
		saved.Stages[i].Bytes = saved.Stages[i].Bytes[:len(saved.Stages[i].Bytes)/2]
	}
	saved.Interval.StartNanos = k.last.StartNanos - 1e6 // so that it is not deduplicated
	if err := db.StoreStates(t.Context(), "load", saved.GraphVersion, saved.Interval, 0, saved.Stages); err != nil {
		t.Fatal(err)
	}
}

func readLog(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
