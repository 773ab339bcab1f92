//go:build integration

package app

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/internal/test/apachekafka"
	"github.com/giverny/giverny/internal/test/await"
	"github.com/giverny/giverny/internal/test/freeport"
	"github.com/giverny/giverny/internal/test/proc"
	"github.com/giverny/giverny/internal/test/repo"
	"github.com/giverny/giverny/store"
	"github.com/giverny/giverny/store/engine"
)

// sharing is several `giverny analyze` processes that share fabrics, with one Apache
// Kafka and one store reached over HTTP.
type sharing struct {
	t         *testing.T
	dir       string
	session   time.Duration
	fabrics   []string
	broker    *apachekafka.Broker
	engine    *engine.Engine
	history   history
	analysers []*analyser
}

const (
	shareTopology = "torus:4x4x4"
	sharePatience = 4 * time.Minute // for a busy machine
)

func newSharing(t *testing.T, session time.Duration, analysers, fabrics int) *sharing {
	t.Helper()
	s := &sharing{t: t, dir: t.TempDir(), session: session, broker: apachekafka.Start(t, apachekafka.Options{Properties: map[string]string{
		"group.min.session.timeout.ms": "1000", "group.initial.rebalance.delay.ms": "0"}})}
	for i := range fabrics {
		s.fabrics = append(s.fabrics, fmt.Sprint("f", i))
	}
	s.startEngine()
	binary := filepath.Join(s.dir, "giverny")
	build := exec.Command("go", "build", "-o", binary, "./cmd/giverny")
	build.Dir = repo.Dir(t)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build giverny: %v\n%s", err, out)
	}
	for n := range analysers {
		s.analysers = append(s.analysers, s.newAnalyser(n, binary))
	}
	return s
}

// startEngine starts the shared store.
func (s *sharing) startEngine() {
	t := s.t
	t.Helper()
	library, err := engine.FindLibrary("")
	if err != nil {
		t.Fatal(err)
	}
	cfg := engine.DefaultConfig()
	cfg.LibraryPath, cfg.DataDir, cfg.Command = library, filepath.Join(s.dir, "clickhouse"), []string{os.Args[0], EngineCommand}
	if s.engine, err = engine.New(cfg, engine.Deps{Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.engine.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	if err := s.engine.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// analyser is one `giverny analyze`, with its own address of the store, so that the
// history shows who wrote what.
type analyser struct {
	s                        *sharing
	n                        int
	binary, config, log, web string
	process                  *proc.Process // nil while it is not running
}

func (s *sharing) newAnalyser(n int, binary string) *analyser {
	s.t.Helper()
	metrics := freeport.Addr(s.t)
	a := &analyser{s: s, n: n, binary: binary, config: filepath.Join(s.dir, fmt.Sprintf("giverny%d.yaml", n)),
		log: filepath.Join(s.dir, fmt.Sprintf("giverny%d.log", n)), web: "http://" + metrics}
	front := s.history.front(s.engine, n)
	s.t.Cleanup(front.Close)
	var text strings.Builder
	fmt.Fprintf(&text, "http: {listen: 127.0.0.1:0, metrics: {listen: %q}}\ndata_dir: %q\n", metrics, filepath.Join(s.dir, fmt.Sprint("data", n)))
	fmt.Fprintf(&text, "kafka: {embedded: false, brokers: [%q], consumer: {session_timeout: %s}}\n", s.broker.Addr(), s.session)
	fmt.Fprintf(&text, "store: {embedded: false, url: %q}\nfabrics:\n", front.URL+"/"+store.DefaultDatabase+"?compress=none")
	for _, f := range s.fabrics {
		fmt.Fprintf(&text, "  - {name: %s, topology: %q, interval: 1s, allowed_lateness: 15s}\n", f, shareTopology)
	}
	if err := os.WriteFile(a.config, []byte(text.String()), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return a
}

func (a *analyser) start() {
	t := a.s.t
	t.Helper()
	cmd := exec.Command(a.binary, "analyze", "--config", a.config)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIVERNY_") }) // everything is in the file
	var err error
	if a.process, err = proc.Start(cmd, a.log); err != nil {
		t.Fatal(err)
	}
	process := a.process
	t.Cleanup(process.Kill)
}

// signal sends a signal; after a terminating one it waits for the exit.
func (a *analyser) signal(sig syscall.Signal) {
	a.s.t.Helper()
	if err := syscall.Kill(a.process.Pid(), sig); err != nil {
		a.s.t.Fatalf("analyser %d: %v: %v\n%s", a.n, sig, err, a.process.LogTail(20))
	}
	if sig == syscall.SIGKILL || sig == syscall.SIGTERM {
		<-a.process.Done()
	}
}

var ownerLine = regexp.MustCompile(`(?m)^giverny_pipeline_owner\{fabric="([^"]*)"\} 1$`)

// owns lists the fabrics that the process reports to own; none if it does not respond.
func (a *analyser) owns() (fabrics []string) {
	client := http.Client{Timeout: 2 * time.Second}
	defer client.CloseIdleConnections()
	answer, err := client.Get(a.web + "/metrics")
	if err != nil {
		return nil
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil
	}
	for _, m := range ownerLine.FindAllSubmatch(text, -1) {
		fabrics = append(fabrics, string(m[1]))
	}
	return fabrics
}

// mustRun fails the test if the process has exited.
func (a *analyser) mustRun() {
	a.s.t.Helper()
	select {
	case <-a.process.Done():
		a.s.t.Fatalf("analyser %d has ended: %v\n%s", a.n, a.process.Err(), a.process.LogTail(20))
	default:
	}
}

// takeovers counts the takeovers of each fabric in the log of the process.
func (a *analyser) takeovers() map[string]int {
	text, err := os.ReadFile(a.log)
	if err != nil {
		a.s.t.Fatal(err)
	}
	n := map[string]int{}
	for line := range strings.Lines(string(text)) {
		if _, rest, found := strings.Cut(line, `msg="lease: fabric taken over" fabric=`); found {
			n[strings.Fields(rest)[0]]++
		}
	}
	return n
}

// awaitLevel waits until some analysers own all fabrics, in fair shares.
func (s *sharing) awaitLevel(among ...*analyser) {
	s.t.Helper()
	most := (len(s.fabrics) + len(among) - 1) / len(among)
	var seen []int
	if await.Holds(sharePatience, 50*time.Millisecond, func() bool {
		sum, greatest := 0, 0
		seen = seen[:0]
		for _, a := range among {
			a.mustRun()
			n := len(a.owns())
			seen = append(seen, n)
			sum, greatest = sum+n, max(greatest, n)
		}
		return sum == len(s.fabrics) && greatest <= most
	}) {
		return
	}
	for _, a := range among {
		s.t.Logf("analyser %d:\n%s", a.n, a.process.LogTail(20))
	}
	s.t.Fatalf("the fabrics are not shared evenly: %v of %d", seen, len(s.fabrics))
}

// insertion is an insert that the store acknowledged or rejected.
type insertion struct {
	by            int
	table, fabric string
	startMillis   int64
	token         string
	sent, done    time.Time
	ok, held      bool
}

// history records every insert of the analysers, as a proxy of the store.
type history struct {
	mu     sync.Mutex
	writes []insertion
	armed  map[int]*heldWrite // by analyser
}

// heldWrite is an insert delayed by the test.
type heldWrite struct {
	held    chan struct{} // closed when there is one
	release chan struct{}
}

// hold delays the next insert of an analyser, unless it is into the audit, which may
// contain duplicates that are removed on reading.
func (h *history) hold(by int) *heldWrite {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.armed == nil {
		h.armed = map[int]*heldWrite{}
	}
	w := &heldWrite{make(chan struct{}), make(chan struct{})}
	h.armed[by] = w
	return w
}

func (h *history) takeArmed(by int, table string) *heldWrite {
	h.mu.Lock()
	defer h.mu.Unlock()
	if strings.HasPrefix(table, "command") {
		return nil
	}
	w := h.armed[by]
	delete(h.armed, by)
	return w
}

// front is the store's address for one analyser.
func (h *history) front(e *engine.Engine, by int) *httptest.Server {
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", "localhost" },
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return e.DialContext(ctx, "") }, DisableKeepAlives: true},
		ErrorLog:  slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := r.URL.Query().Get("insert_deduplication_token")
		if token == "" || !strings.HasPrefix(r.URL.Query().Get("query"), "INSERT") { // the query for the columns has a token, too
			proxy.ServeHTTP(w, r)
			return
		}
		h.insert(by, token, w, r, proxy)
	}))
}

func (h *history) insert(by int, token string, w http.ResponseWriter, r *http.Request, next http.Handler) {
	at := insertion{by: by, token: token, sent: time.Now()}
	if parts := strings.Split(token, "/"); len(parts) >= 3 {
		at.table, at.fabric = parts[0], parts[1]
		at.startMillis, _ = strconv.ParseInt(parts[2], 10, 64)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if held := h.takeArmed(by, at.table); held != nil {
		at.held = true
		close(held.held)
		<-held.release
		r = r.WithContext(context.WithoutCancel(r.Context())) // already on the wire, whatever happens to its sender
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	answer := httptest.NewRecorder()
	next.ServeHTTP(answer, r)
	at.done, at.ok = time.Now(), answer.Code == http.StatusOK
	h.mu.Lock()
	h.writes = append(h.writes, at)
	h.mu.Unlock()
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

// stored returns the acknowledged rows of `intervals`, each of which makes an interval
// visible, in order of acknowledgement.
func (h *history) stored() (markers []insertion) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.writes {
		if w.ok && w.table == "intervals" {
			markers = append(markers, w)
		}
	}
	return markers
}
