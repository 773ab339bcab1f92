//go:build integration

package app

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/internal/test/await"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store"
	"github.com/giverny/giverny/store/engine"
	"github.com/giverny/giverny/store/read"
	"github.com/giverny/giverny/topology"
	"github.com/giverny/giverny/topology/topologytest"
)

const (
	chaosKills    = 3
	chaosTopology = "torus:16x16x16"
)

// The whole process, including broker, analyser and engine, is killed at random under
// load. Then everything acknowledged by Kafka must be in the tables, once and with the
// right values; what was never read must be missing, not zero.
func TestChaosKill9(t *testing.T) {
	dir := t.TempDir()
	library, err := engine.FindLibrary("")
	if err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for i := range chaosKills {
		child := startLoad(t, dir, library)
		if i%2 == 0 { // the others are killed at any time, also during start-up
			awaitPoll(t, dir)
		}
		time.Sleep(1500*time.Millisecond + time.Duration(rng.Int64N(int64(4*time.Second))))
		kill9(child)
	}
	child := startLoad(t, dir, library)
	defer kill9(child)
	target := time.Now().Add(8 * time.Second).UnixNano() // the last run is long enough to catch up
	awaitStored(t, dir, target)
	kill9(child)
	checkTables(t, dir, library, readJournal(t, dir, ackedJournal), target)
}

// awaitPoll waits until the child has another poll acknowledged.
func awaitPoll(t *testing.T, dir string) {
	t.Helper()
	size := func() int64 {
		info, err := os.Stat(filepath.Join(dir, ackedJournal))
		if err != nil {
			return 0
		}
		return info.Size()
	}
	before := size()
	await.Until(t, "a poll to be acknowledged", 2*time.Minute, 50*time.Millisecond, func() bool { return size() != before })
}

func startLoad(t *testing.T, dir, library string, args ...string) *exec.Cmd {
	t.Helper()
	if args == nil {
		args = []string{chaosTopology}
	}
	cmd := exec.Command(os.Args[0], append([]string{loadCommand, dir}, args...)...)
	cmd.Env = append(os.Environ(), "GIVERNY_TEST_LIBRARY="+library, "GIVERNY_TEST_LOG="+filepath.Join(dir, "log"))
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// kill9 kills the whole process group, including the engine's child.
func kill9(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	_ = cmd.Wait()
}

func readJournal(t *testing.T, dir, name string) (acked []int64) {
	t.Helper()
	file, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		nanos, err := strconv.ParseInt(lines.Text(), 10, 64)
		if err != nil {
			t.Fatalf("journal: %v", err)
		}
		acked = append(acked, nanos)
	}
	return acked
}

func awaitStored(t *testing.T, dir string, nanos int64) {
	t.Helper()
	if await.Holds(4*time.Minute, 200*time.Millisecond, func() bool {
		stored := readJournal(t, dir, storedJournal)
		return len(stored) > 0 && stored[len(stored)-1] >= nanos
	}) {
		return
	}
	log, _ := os.ReadFile(filepath.Join(dir, "log"))
	t.Fatalf("the last process does not catch up; its log:\n%s", log)
}

// openStore starts the engine on a child's files, until done is called.
func openStore(t *testing.T, dir, library string) (db *store.DB, e *engine.Engine, done func()) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	cfg := engine.DefaultConfig()
	cfg.LibraryPath, cfg.DataDir, cfg.Command = library, filepath.Join(dir, "data", "clickhouse"), []string{os.Args[0], EngineCommand}
	e, err := engine.New(cfg, engine.Deps{Logger: quiet, Registerer: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	if err := e.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	db, err = store.New(e.Options(store.DefaultDatabase), store.DefaultConfig(), store.Deps{Log: quiet, Registerer: prometheus.NewRegistry(), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	return db, e, func() {
		db.Close()
		stop()
		<-ended
	}
}

func checkTables(t *testing.T, dir, library string, acked []int64, until int64) {
	db, e, done := openStore(t, dir, library)
	defer done()
	ctx := t.Context()
	doubled := countDoubles(t, ctx, e)
	whole, missing := 0, 0
	graph := topologytest.Parse(t, "load", chaosTopology)
	const maxGap = 3e9
	for i := 1; i < len(acked) && acked[i] <= until; i++ {
		for start := acked[i-1]; start < acked[i]; start += 1e9 {
			if acked[i]-acked[i-1] <= maxGap {
				checkInterval(t, ctx, db, graph, start)
				whole++
			} else {
				missing++
			}
		}
	}
	if whole < chaosKills {
		t.Errorf("only %d whole intervals in %d runs", whole, chaosKills+1)
	}
	t.Logf("chaos: killed %d times; %d polls of %d rows acknowledged; %d intervals of %d links x 3 metrics there, exact, once; %d intervals between lives missing as they should; doubled rows: %v",
		chaosKills, len(acked), 2*graph.NumLinks(), whole, graph.NumLinks(), missing, doubled)
}

// tableKeys are the unique keys of the tables.
var tableKeys = map[string]string{
	"intervals":      "(fabric, time, graph_version)",
	"link_samples":   "(fabric, metric, block, time, graph_version)",
	"regions":        "(fabric, time, graph_version, rank)",
	"network_states": "(fabric, metric, time, graph_version)",
	"events":         "(fabric, interval_start, graph_version, rank)",
	"links":          "(fabric, graph_version, link)",

	"analysis_states": "(fabric, time, graph_version, stage)",
}

// countDoubles counts the duplicate rows of each table.
func countDoubles(t *testing.T, ctx context.Context, e *engine.Engine) map[string]int64 {
	t.Helper()
	conn, err := clickhouse.Open(e.Options(store.DefaultDatabase))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	doubled := map[string]int64{}
	for table, key := range tableKeys {
		var n int64
		if err := conn.QueryRow(ctx, "SELECT toInt64(count()) - toInt64(uniqExact("+key+")) FROM "+table).Scan(&n); err != nil {
			t.Fatalf("%s: %v", table, err)
		}
		if doubled[table] = n; n > 0 {
			t.Errorf("%s: %d rows are doubled", table, n)
		}
	}
	return doubled
}

func checkInterval(t *testing.T, ctx context.Context, db *store.DB, g *topology.Graph, start int64) {
	t.Helper()
	model := read.New(db)
	stored, err := model.StoredAt(ctx, "load", schema.Instant(start))
	if err != nil || stored.StartNanos != start {
		t.Errorf("interval at %d: %v", start, err)
		return
	}
	snap, err := model.Snapshot(ctx, "load", stored)
	if err != nil {
		t.Errorf("interval at %d: %v", start, err)
		return
	}
	for m, share := range map[schema.Metric]float64{schema.CreditStall: 1, schema.InqStall: .5} {
		s := snap.Find(m)
		if s == nil || s.Count != g.NumLinks() {
			t.Errorf("interval at %d: %s is not there for all links, coverage %.3f", start, m, snap.Coverage(m))
			continue
		}
		for l := range schema.LinkID(g.NumLinks()) {
			if want := share * loadPercent(l); math.Abs(float64(s.Values[l])-want) > .011 {
				t.Errorf("interval at %d, link %d: %s is %v, want %v", start, l, m, s.Values[l], want)
				return
			}
		}
	}
}
