//go:build integration

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/internal/app"
	"github.com/giverny/giverny/internal/test/apachekafka"
	"github.com/giverny/giverny/internal/test/await"
	"github.com/giverny/giverny/internal/test/freeport"
	"github.com/giverny/giverny/internal/test/sysfs"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store"
	"github.com/giverny/giverny/store/engine"
	"github.com/giverny/giverny/store/engine/enginetest"
	"github.com/giverny/giverny/store/read"
	"github.com/giverny/giverny/topology"
)

// site is a small installation: a real Kafka, a store shared by several processes, an
// analyser and a page in this process, and agents in separate processes.
type site struct {
	t            *testing.T
	dir          string
	kafka, store string // addresses
	db           *store.DB
	page         string // URL
	operator     string // configuration file
	public       string // key
}

func newSite(t *testing.T) *site {
	s := &site{t: t, dir: t.TempDir()}
	s.kafka = apachekafka.Start(t, apachekafka.Options{}).Addr()
	makeTopics(t, s.kafka)
	cfg := enginetest.Config(t)
	cfg.Command = []string{cfg.Command[0], app.EngineCommand}
	e := enginetest.Run(t, cfg, engine.Deps{Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})
	s.store = forward(t, e)
	var err error
	if s.db, err = store.New(e.Options(store.DefaultDatabase), store.DefaultConfig(), store.Deps{Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), Now: time.Now}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.db.Close() })
	if err := s.db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(s.dir, "operator.pem")
	public, _, err := giverny(t.Context(), "agents", "key", key)
	if err != nil {
		t.Fatal(err)
	}
	s.public = strings.TrimSpace(public)
	s.operator = s.config("operator", fmt.Sprintf("command: {sign: {principal: operator, key_file: %s}}\nsearch: {launch: {allow_hosts: ['n*'], engine: rig, peers: 1, budget: 120, duration: 4m}}\nhostping: {launch: {allow_hosts: ['n*']}}\n", key))
	return s
}

// forward serves an engine, which listens on a socket file, at a TCP address.
func forward(t *testing.T, e *engine.Engine) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer in.Close()
				out, err := e.DialContext(context.Background(), "")
				if err != nil {
					return
				}
				defer out.Close()
				go func() { _, _ = io.Copy(out, in); out.Close() }()
				_, _ = io.Copy(in, out)
			}()
		}
	}()
	return l.Addr().String()
}

// config writes a configuration file.
func (s *site) config(name, text string) string {
	s.t.Helper()
	common := fmt.Sprintf("data_dir: %s\nlog: {level: warn}\nfabrics: [{name: ib0, topology: 'fattree:k=4', interval: 1s}]\nkafka: {embedded: false, brokers: ['%s']}\nstore: {embedded: false, url: 'http://%s/giverny?compress=none'}\n",
		filepath.Join(s.dir, name), s.kafka, s.store)
	if !strings.Contains(text, "http:") {
		common += "http: {listen: 127.0.0.1:0}\n"
	}
	path := filepath.Join(s.dir, name+".yaml")
	if err := os.WriteFile(path, []byte(common+text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return path
}

// run runs a role in this process until the test ends.
func (s *site) run(args ...string) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		_, stderr, err := giverny(ctx, args...)
		if err != nil {
			err = fmt.Errorf("giverny %v: %w: %s", args, err, stderr)
		}
		ended <- err
	}()
	s.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			s.t.Error(err)
		}
	})
}

// agent starts an agent that offers searches, in its own process; kill stops it with SIGKILL.
func (s *site) agent(name, rules string, pause time.Duration) (kill func()) {
	s.t.Helper()
	return s.start(name, rules, fmt.Sprintf("search: {offer: {engines: [{name: rig, kind: exec, command: [%s, %v, '{peer}']}], peers: ['n*'], max_experiments: 5000, max_gigabytes: 1e9, watch_for: 1ms, watch_every: 50ms, report_every: 1s}}\n",
		filepath.Join(s.dir, testEngine), pause))
}

// start starts an agent with its offers.
func (s *site) start(name, rules, offers string) (kill func()) {
	s.t.Helper()
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, command := range []string{"giverny", testEngine, testHost} {
		if err := os.Symlink(self, filepath.Join(s.dir, command)); err != nil && !os.IsExist(err) {
			s.t.Fatal(err)
		}
	}
	root := filepath.Join(s.dir, "sys-"+name)
	sysfs.Adapter(s.t, root, name, "mlx5_0")
	path := s.config(name, fmt.Sprintf("collect: {agent: %s, ibsysfs: {enabled: true, root: %s}}\ncommand:\n  clock_tolerance: 5s\n  principals: [{name: operator, keys: [%s]}]\n  allow: %s\n",
		name, root, s.public, rules)+offers)
	cmd := exec.Command(filepath.Join(s.dir, "giverny"), "collect", "-c", path)
	cmd.Stdout, cmd.Stderr = s.t.Output(), s.t.Output()
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	killed := false
	kill = func() {
		if !killed {
			killed = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	s.t.Cleanup(kill)
	return kill
}

// operate runs a command as the operator until its output is as wanted.
func (s *site) operate(done func(stdout string, err error) bool, args ...string) string {
	s.t.Helper()
	var stdout, stderr string
	var err error
	if !await.Holds(time.Minute, 100*time.Millisecond, func() bool {
		stdout, stderr, err = giverny(s.t.Context(), append(args, "-c", s.operator)...)
		return done(stdout, err)
	}) {
		s.t.Fatalf("giverny %v: %v\n%s%s", args, err, stdout, stderr)
	}
	return stdout
}

func well(_ string, err error) bool { return err == nil }

// get requests a path of the API.
func (s *site) get(path string, into any) {
	s.t.Helper()
	response, err := http.Get(s.page + "/api/v1/fabrics/ib0/" + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode == http.StatusOK {
		err = json.Unmarshal(text, into)
	}
	if err != nil || response.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %s %v\n%s", path, response.Status, err, text)
	}
}

// serve runs the API and the page on a free port.
func (s *site) serve() {
	s.t.Helper()
	address := freeport.Addr(s.t)
	s.page = "http://" + address
	s.run("serve", "-c", s.config("page", "http: {listen: '"+address+"', metrics: {listen: '127.0.0.1:0'}}\n"))
}

// slowHost stores an interval with a region whose root is at host n1.
func (s *site) slowHost(region uint64) {
	s.t.Helper()
	g, err := topology.Parse("ib0", "fattree:k=4")
	if err != nil {
		s.t.Fatal(err)
	}
	start := time.Now().Truncate(time.Second).Add(-time.Minute)
	at := schema.InstantOf(start)
	r := &schema.IntervalResult{Snapshot: &schema.Snapshot{Fabric: "ib0", GraphVersion: g.Version(), Links: g.NumLinks(), Interval: schema.Interval{StartNanos: start.UnixNano(), DurationNanos: int64(time.Second)}},
		Diagnoses: []schema.Diagnosis{{Fabric: "ib0", Time: at, Region: region, Metric: schema.CreditStall, Severity: schema.High, Links: []schema.LinkID{1}, Mean: 40,
			Cause: schema.Cause{Class: schema.CauseSlowHost, Confidence: .95}, Root: &schema.Root{Link: schema.NoLink, Device: "leaf0", Port: "1", Peer: "n1 mlx5_0", Kind: "slow_receiver"},
			Victims: []schema.VictimJob{{JobID: "17"}}, Action: "Probe n1", Text: "n1 pauses its port."}}}
	if err := s.db.Store(s.t.Context(), r); err != nil {
		s.t.Fatal(err)
	}
}

// A region causes a search, and the search adds an entry to the knowledge base, over a real Kafka: a dry run
// sends nothing that acts, the agent reports progress, a second search of the subsystem is refused, a cancel ends
// the first one and keeps its findings, and an agent that was killed reports so when it is back.
func TestSearchOnDemandOverApacheKafka(t *testing.T) {
	s := newSite(t)
	const allowed = "[{principals: [operator], kinds: [search], run_time: 5m}]"
	kill := s.agent("n1", allowed, 5*time.Millisecond)
	s.agent("n2", "[]", 5*time.Millisecond)
	s.run("analyze", "-c", s.config("analyser", fmt.Sprintf("command: {principals: [{name: operator, keys: [%s]}]}\n", s.public)))
	s.serve()
	s.slowHost(4711)

	dry := s.operate(func(out string, err error) bool { return err == nil && strings.Contains(out, "n1 would accept it") }, "search", "launch", "--region", "4711", "--dry-run")
	for _, want := range []string{"root      n1 mlx5_0: mlx5_0 of agent n1, MT4129 with firmware 28.39.1002", "searches  n1, adapter mlx5_0", "peers     n2", `"kind": "search"`, `"region": "4711"`} {
		if !strings.Contains(dry, want) {
			t.Errorf("the dry run lacks %q:\n%s", want, dry)
		}
	}
	if out := s.operate(well, "search", "list"); strings.Contains(out, "n1") {
		t.Errorf("a dry run is listed:\n%s", out)
	}

	first := s.launch("--region", "4711")
	done := s.search(first.Command.ID, schema.CommandDone)
	if done.Region != 4711 || done.Principal != "operator" || done.Budget != 120 || done.Subsystem.NICModel != "MT4129" || done.Agents[0].Experiments != 120 || done.Agents[0].Anomalies == 0 {
		t.Errorf("search %+v", done)
	}
	var findings struct{ Findings []read.Finding }
	s.get("searches/"+first.Command.ID+"/findings", &findings)
	var known struct{ Anomalies []read.KnownAnomaly }
	s.get("known-anomalies?nic_model=MT4129", &known)
	if len(findings.Findings) != done.Agents[0].Anomalies || len(known.Anomalies) != len(findings.Findings) {
		t.Errorf("%d findings, %d known, %d anomalies", len(findings.Findings), len(known.Anomalies), done.Agents[0].Anomalies)
	}
	var region struct {
		Diagnoses []struct {
			Region         string `json:"region"`
			KnownAnomalies []struct {
				NICModel string `json:"nic_model"`
			} `json:"known_anomalies"`
		}
	}
	s.get("diagnoses?region=4711", &region)
	if len(region.Diagnoses) != 1 || len(region.Diagnoses[0].KnownAnomalies) != len(known.Anomalies) {
		t.Errorf("diagnosis %+v", region)
	}

	s.reported(first.Command.ID, done.Agents[0].Anomalies)
	s.hostile(first.Command)

	long := s.launch("--nic-model", "MT4129", "--budget", "5000")
	s.search(long.Command.ID, schema.CommandProgress)
	failing := func(with string) func(string, error) bool { // eventually: on a busy machine agents answer late
		return func(_ string, err error) bool { return err != nil && strings.Contains(err.Error(), with) }
	}
	s.operate(failing("search "+long.Command.ID), "search", "launch", "--nic-model", "MT4129")
	s.operate(func(_ string, err error) bool { // a late answer counts as well
		return err == nil || strings.Contains(err.Error(), "no agent that answered is running")
	}, "search", "cancel", long.Command.ID, "--wait", "20s")
	if a := s.search(long.Command.ID, schema.CommandCancelled).Agents[0]; a.Reason != "cancelled by operator" || a.Experiments == 0 || a.Experiments >= 5000 {
		t.Errorf("cancelled: %+v", a)
	}

	s.operate(failing("max_experiments is 5000"), "search", "launch", "--nic-model", "MT4129", "--budget", "5001")
	killed := s.launch("--nic-model", "MT4129", "--budget", "5000", "--search-known")
	s.search(killed.Command.ID, schema.CommandProgress)
	kill()
	s.agent("n1", allowed, 5*time.Millisecond)
	if a := s.search(killed.Command.ID, schema.CommandFailed).Agents[0]; !strings.Contains(a.Reason, "agent restarted") || a.Experiments == 0 {
		t.Errorf("killed: %+v", a)
	}
	s.audited()
}

// reported checks the report of a search from the store.
func (s *site) reported(id string, anomalies int) {
	s.t.Helper()
	out := filepath.Join(s.dir, "report.html")
	s.operate(well, "search", "report", id, "--out", out)
	page, err := os.ReadFile(out)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, want := range []string{"<h1>Search of MT4129 with firmware 28.39.1002 on n1</h1>", "<dd>120, of which ", fmt.Sprintf("<dt>anomalies</dt><dd>%d</dd>", anomalies)} {
		if !strings.Contains(string(page), want) {
			s.t.Errorf("the report lacks %q:\n%s", want, page)
		}
	}
}

// launch launches a search, once the agent accepts it.
func (s *site) launch(args ...string) (out searchLaunched) {
	s.t.Helper()
	text := s.operate(well, append([]string{"search", "launch", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(text), &out); err != nil || out.Status != schema.CommandAccepted {
		s.t.Fatalf("%v: %s", err, text)
	}
	return out
}

// search waits until the API reports a status of a search.
func (s *site) search(id string, status schema.CommandStatus) read.Search {
	s.t.Helper()
	var answer struct{ Search read.Search }
	if !await.Holds(time.Minute, 50*time.Millisecond, func() bool {
		var list struct{ Searches []read.Search }
		s.get("searches", &list)
		if !slices.ContainsFunc(list.Searches, func(r read.Search) bool { return r.ID == id }) {
			return false
		}
		s.get("searches/"+id, &answer)
		a := answer.Search.Agents
		return len(a) == 1 && a[0].Status == status && (status.Final() || a[0].Experiments > 0)
	}) {
		s.t.Fatalf("search %s: want %s: %+v", id, status, answer.Search)
	}
	return answer.Search
}

// audited checks that each step of the searches is in the audit.
func (s *site) audited() {
	s.t.Helper()
	model := read.New(s.db)
	commands, err := model.Commands(s.t.Context(), "ib0", read.Span{To: read.Newest})
	if err != nil {
		s.t.Fatal(err)
	}
	statuses := map[schema.CommandStatus]int{}
	for i := range commands {
		if commands[i].Kind != schema.KindSearch || commands[i].Verified != schema.Verified { // the others are from hostile
			continue
		}
		results, err := model.CommandResults(s.t.Context(), "ib0", commands[i].ID)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, r := range results {
			statuses[r.Status]++
		}
	}
	for status, least := range map[schema.CommandStatus]int{schema.CommandAccepted: 3, schema.CommandProgress: 6, schema.CommandDone: 1, schema.CommandCancelled: 1, schema.CommandFailed: 1, schema.CommandRefused: 1} {
		if statuses[status] < least {
			s.t.Errorf("%d audited as %s, want %d or more: %v", statuses[status], status, least, statuses)
		}
	}
}
