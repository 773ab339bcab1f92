//go:build engine || integration

package store

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/engine"
	"github.com/giverny/giverny/store/engine/enginetest"
)

// What runs here, and what does not: the embedded engine has its own Keeper for
// tests and accepts the definitions of replicated tables, but it serves no other
// replica, and so keeps such tables read-only; it rejects ON CLUSTER. Tests that
// store rows therefore change the local tables to MergeTree in the request, and
// remove ON CLUSTER; distributed tables, their inserts, settings and queries are
// real.
var onCluster = regexp.MustCompile(" ON CLUSTER `[^`]*`")

func clusterEngine(t *testing.T) *engine.Engine {
	t.Helper()
	cfg := enginetest.Config(t)
	cfg.TestKeeper = true
	return enginetest.Run(t, cfg, engine.Deps{Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})
}

func inCluster() Config {
	cfg := quickRetries()
	cfg.Cluster = enginetest.Cluster
	return cfg
}

func TestTheEngineTakesReplicatedTables(t *testing.T) {
	conn := enginetest.Connect(t, clusterEngine(t), "default")
	c := ClusterConfig{Name: "giverny", Database: "giverny"}
	statements := []string{createDatabase(c), migrationTable(c)}
	for _, step := range ownMigrations(t) {
		for _, s := range step.statements {
			rendered, err := render(s, c)
			if err != nil {
				t.Fatal(err)
			}
			statements = append(statements, rendered...)
		}
	}
	local := 0
	for _, s := range statements {
		if strings.HasPrefix(s, "CREATE TABLE") && strings.Contains(s, "_local`") && !strings.Contains(s, "Distributed(") {
			local++
		}
		err := conn.Exec(t.Context(), onCluster.ReplaceAllString(s, ""))
		var e *clickhouse.Exception
		if readOnly := errors.As(err, &e) && e.Code == 242; strings.HasPrefix(s, "ALTER") && strings.Contains(s, "_local`") {
			if !readOnly {
				t.Errorf("%s: want the table to be read-only, got %v", s, err)
			}
		} else if err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
	var tables uint64
	if err := conn.QueryRow(t.Context(), `SELECT countIf(engine_full LIKE 'ReplicatedMergeTree(\'/clickhouse/tables/{shard}/giverny/' || name || '\', \'{replica}\')%') FROM system.tables
		WHERE database = 'giverny'`).Scan(&tables); err != nil || int(tables) != local {
		t.Errorf("%d local tables meet in a path of their shard, want %d; %v", tables, local, err)
	}
}

// host is a fake server of a cluster: it passes requests on to the one engine,
// whose tables contain what replication would put on all hosts.
type host struct {
	*httptest.Server

	mu     sync.Mutex
	seen   []seen
	answer func(s seen) (exception string) // may be nil; "" passes the request on
	lose   func(s seen) bool               // may be nil; if true, the request is executed, and the host dies
	hosts  string                          // how many hosts the cluster seems to have; "" for the real number
}

type seen struct {
	sql      string
	settings url.Values
}

func newHost(t *testing.T, e *engine.Engine) *host {
	t.Helper()
	h := &host{}
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", "localhost" },
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return e.DialContext(ctx, "") }, DisableKeepAlives: true},
		ErrorLog:  slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.serve(w, r, proxy) }))
	t.Cleanup(h.Close)
	return h
}

func (h *host) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	s := seen{r.URL.Query().Get("query"), r.URL.Query()}
	if s.sql == "" {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		s.sql = string(body)
		sent := enginetest.Unreplicated(s.sql)
		if h.hosts != "" {
			sent = strings.ReplaceAll(sent, "(SELECT count() FROM clusterAllReplicas('giverny', system.one))", h.hosts)
		}
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(sent)), int64(len(sent))
	}
	h.mu.Lock()
	h.seen = append(h.seen, s)
	answer, lose := h.answer, h.lose
	h.mu.Unlock()
	if answer != nil {
		if text := answer(s); text != "" {
			http.Error(w, text, http.StatusInternalServerError)
			return
		}
	}
	if lose != nil && lose(s) {
		next.ServeHTTP(httptest.NewRecorder(), r)
		h.Listener.Close()
		panic(http.ErrAbortHandler)
	}
	next.ServeHTTP(w, r)
}

// statements returns the statements that a host received and that begin with a word.
func (h *host) statements(word string) (of []seen) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.seen {
		if strings.HasPrefix(strings.TrimSpace(s.sql), word) {
			of = append(of, s)
		}
	}
	return of
}

func optionsOf(hosts ...*host) *clickhouse.Options {
	opts := &clickhouse.Options{Protocol: clickhouse.HTTP}
	for _, h := range hosts {
		opts.Addr = append(opts.Addr, h.Listener.Addr().String())
	}
	return opts
}

func TestStoreInACluster(t *testing.T) {
	e := clusterEngine(t)
	first, second := newHost(t, e), newHost(t, e)
	db := openDB(t, optionsOf(first, second), inCluster())
	for range 2 {
		if err := db.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	made := len(first.statements("CREATE"))
	again := openDB(t, db.opts, inCluster())
	for _, n := range []int64{1, 2, 2, 1, 3} {
		for _, db := range []testDB{db, again} {
			if err := db.Store(t.Context(), someResult("bw", n, 1000)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if diff := cmp.Diff(wantContents(3), contents(t, db, "bw")); diff != "" {
		t.Error(diff)
	}
	if err := db.StoreStates(t.Context(), "bw", 7, schema.Interval{StartNanos: minute, DurationNanos: minute}, 0, stages("a", "b")); err != nil {
		t.Fatal(err)
	}
	if saved, err := db.LastStates(t.Context(), "bw", minute); err != nil || len(saved.Stages) != 2 || saved.Interval.DurationNanos != minute {
		t.Errorf("states %+v, %v", saved, err)
	}
	if got := row(t, db, "SELECT counter FROM counter_readings WHERE fabric = 'bw' AND device = 'b' GROUP BY counter ORDER BY counter"); got != "ib.symbol_error; new.thing" {
		t.Errorf("counter_readings has %q", got)
	}
	if made != len(first.statements("CREATE")) || len(second.seen) != 0 {
		t.Error("the second start made tables, or the second host was asked while the first was there")
	}
	checkSettings(t, first)
}

// checkSettings checks the settings on which exactly-once storage depends.
func checkSettings(t *testing.T, h *host) {
	t.Helper()
	inserts := h.statements("INSERT INTO `link_samples`")
	inserts = append(inserts, h.statements("INSERT INTO link_samples")...)
	if len(inserts) < 3 {
		t.Fatalf("%d inserts into link_samples", len(inserts))
	}
	for _, s := range inserts {
		if q := s.settings; q.Get("insert_quorum") != "auto" || q.Get("insert_quorum_parallel") != "0" || q.Get("distributed_foreground_insert") != "1" ||
			!strings.HasPrefix(q.Get("insert_deduplication_token"), "link_samples/bw/") {
			t.Errorf("an insert with %v", q)
		}
	}
	looked := h.statements("SELECT count() FROM intervals WHERE")
	if len(looked) == 0 {
		t.Error("nothing was looked up")
	}
	for _, s := range looked {
		if s.settings.Get("select_sequential_consistency") != "1" {
			t.Errorf("a look-up with %v", s.settings)
		}
	}
	for _, s := range slices.Concat(h.statements("CREATE"), h.statements("ALTER")) {
		if !onCluster.MatchString(s.sql) {
			t.Errorf("not on the cluster: %s", s.sql)
		}
	}
}

// The first host dies with an insert that it has executed but not acknowledged.
// The writer sends it to the second, which lags behind at first: the rows must not
// be stored twice, nor may the next process take the interval for a new one.
func TestFailover(t *testing.T) {
	e := clusterEngine(t)
	for _, table := range []string{"link_samples", "regions", "port_readings", "intervals"} {
		first, second := newHost(t, e), newHost(t, e)
		db := openDB(t, optionsOf(first, second), inCluster())
		if err := db.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		dying := false
		first.lose = func(s seen) bool {
			dying = dying || strings.HasPrefix(s.sql, "INSERT INTO") && strings.HasPrefix(s.settings.Get("insert_deduplication_token"), table+"/")
			return dying
		}
		behind := 3
		second.answer = func(s seen) string {
			if behind > 0 && s.settings.Get("select_sequential_consistency") == "1" {
				behind--
				return "Code: 289. DB::Exception: Replica doesn't have part 0_1_1_0. (REPLICA_IS_NOT_IN_QUORUM)"
			}
			return ""
		}
		fabric := "dies at " + table
		if err := db.Store(t.Context(), someResult(fabric, 1, 1000)); err != nil {
			t.Fatal(err)
		}
		next := openDB(t, optionsOf(first, second), inCluster())
		for _, stage := range []func() error{
			func() error { return next.Store(t.Context(), someResult(fabric, 1, 1000)) },
			func() error { return next.Store(t.Context(), someResult(fabric, 2, 1000)) },
			func() error { return next.Migrate(t.Context()) },
		} {
			if err := stage(); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(wantContents(2), contents(t, next, fabric)); diff != "" {
			t.Errorf("%s: %s", fabric, diff)
		}
		if len(second.statements("INSERT")) == 0 || len(second.statements("CREATE")) != 0 {
			t.Errorf("%s: the second host was sent %d inserts and %d definitions of tables, want some and none", fabric, len(second.statements("INSERT")), len(second.statements("CREATE")))
		}
		if behind != 0 || count(db.metrics.retries.WithLabelValues(reasonReplicas))+count(next.metrics.retries.WithLabelValues(reasonReplicas)) != 3 {
			t.Errorf("%s: a replica that is behind was believed", fabric)
		}
		if n := count(next.metrics.intervals.WithLabelValues(resultAlready)); n != 1 {
			t.Errorf("%s: the next process found %v intervals stored, want 1", fabric, n)
		}
	}
}

// A host has joined: it gets the tables, from their current definitions.
func TestAHostThatJoinsIsGivenTheTables(t *testing.T) {
	h := newHost(t, clusterEngine(t))
	db := openDB(t, optionsOf(h), inCluster())
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := len(h.statements("CREATE"))
	h.hosts = "2"
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	for _, s := range h.statements("CREATE")[before:] {
		text.WriteString(s.sql + "\n")
	}
	for _, want := range []string{"CREATE TABLE IF NOT EXISTS `giverny`.`regions_local` ON CLUSTER `giverny` (", "`odds_next` Array(UInt8)",
		"CREATE TABLE IF NOT EXISTS `giverny`.`regions` ON CLUSTER `giverny` (", "`giverny_migrations` ON CLUSTER", "CREATE VIEW IF NOT EXISTS `giverny`.`hot_links` ON CLUSTER `giverny` ("} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("want %q in %s", want, text.String())
		}
	}
}

func TestOneServerAndAClusterAreNotMixedUp(t *testing.T) {
	e := clusterEngine(t)
	alone := openDB(t, e.Options("alone"), quickRetries())
	if err := alone.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := newHost(t, e)
	opts := optionsOf(h)
	opts.Auth.Database = "alone"
	if err := openDB(t, opts, inCluster()).Migrate(t.Context()); err == nil || !strings.Contains(err.Error(), "tables of one server") {
		t.Errorf("a cluster on the tables of one server: %v", err)
	}
	if err := openDB(t, optionsOf(h), inCluster()).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := openDB(t, optionsOf(h), quickRetries()).Migrate(t.Context()); err == nil || !strings.Contains(err.Error(), "set store.cluster") {
		t.Errorf("one server on the tables of a cluster: %v", err)
	}
	unknown := inCluster()
	unknown.Cluster = "nowhere"
	if err := openDB(t, optionsOf(h), unknown).Migrate(t.Context()); err == nil || !strings.Contains(err.Error(), "system.clusters") {
		t.Errorf("an unknown cluster: %v", err)
	}
}
