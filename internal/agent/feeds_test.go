package agent

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/collectors/feeds"
	"github.com/giverny/giverny/ingest/emitter"
	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
	"github.com/giverny/giverny/topology/topologytest"
)

// records is a sink that keeps its records.
type records struct {
	mu   sync.Mutex
	list []kafka.Record
	err  error
}

func (r *records) Produce(_ context.Context, record kafka.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.list = append(r.list, record)
	}
	return r.err
}

// feedsOf creates the feeds of a configuration, with a folder for its files.
func feedsOf(t *testing.T, text string) (*feedSet, *records, string) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "giverny.yaml")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "DIR", dir)), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	var graphs []*topology.Graph
	for _, f := range cfg.Fabrics {
		graphs = append(graphs, topologytest.Parse(t, f.Name, f.Topology))
	}
	set, err := newFeedSet(&cfg, "agent", Deps{Log: log, Registerer: prometheus.NewRegistry(), Graphs: graphs})
	if err != nil {
		t.Fatal(err)
	}
	out := &records{}
	set.out.emitter = emitter.New(out, config.PartitionOf(cfg.Fabrics))
	return set, out, dir
}

const feedsConfig = `
data_dir: DIR
fabrics:
  - {name: plane0, topology: "torus:4x4x4"}
  - {name: plane1, topology: "torus:2x2x2"}
collect:
  fabric: plane0
  jobs:
    file: {enabled: true, path: DIR/jobs.jsonl, fabrics: [plane0, plane1], node_map: DIR/nodes.tsv, max_age: 0s}
  failures:
    log: {enabled: true, paths: [DIR/failures.tsv], from_start: true}
  traffic:
    file: {enabled: true, path: DIR/traffic.csv, fabrics: [plane1]}
`

// Rows of configured feeds become records in the topics of their fabrics, once.
func TestFeedsEndInTopics(t *testing.T) {
	nodeMap := filepath.Join(t.TempDir(), "nodes.tsv")
	if err := os.WriteFile(nodeMap, []byte("nid[1-2]\t1,1,1\nnid3\t3,3,3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	set, out, dir := feedsOf(t, strings.ReplaceAll(feedsConfig, "DIR/nodes.tsv", nodeMap))
	for name, text := range map[string]string{
		"jobs.jsonl":   `{"job_id":"17","nodes":["nid[1-3]"],"start":"2026-01-05T00:30:00Z"}` + "\n",
		"failures.tsv": "2026-01-05T00:31:00Z\tlink_failed\t3,3,3\tX+\tcable\n",
		"traffic.csv":  "time,job_id,read_bytes\n2026-01-05T00:30:00Z,17,5\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the second time nothing is new
		for _, r := range set.runners() {
			r.Once(t.Context())
			if h := r.Health(); h.State != feeds.OK {
				t.Errorf("%s: %+v, %v", r.Name(), h, h.Err)
			}
		}
	}
	var d envelope.Decoder
	start := schema.InstantOf(time.Date(2026, 1, 5, 0, 30, 0, 0, time.UTC))
	got := map[string]any{}
	for _, r := range out.list {
		var rows any
		var err error
		switch r.Kind {
		case envelope.Jobs:
			rows, err = d.Jobs(r.Payload, nil)
		case envelope.Failures:
			rows, err = d.Failures(r.Payload, nil)
		default:
			rows, err = d.Traffic(r.Payload, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		got[r.Fabric+" "+r.Kind.String()] = rows
	}
	want := map[string]any{
		"plane0 jobs":     []schema.Job{{Fabric: "plane0", ID: "17", Nodes: []string{"1,1,1", "3,3,3"}, Start: start}},
		"plane1 jobs":     []schema.Job{{Fabric: "plane1", ID: "17", Nodes: []string{"1,1,1"}, Start: start}},
		"plane0 failures": []schema.Failure{{Fabric: "plane0", Time: start + 60e9, Kind: schema.LinkFailed, Device: "3,3,3", Port: "X+", Detail: "cable"}},
		"plane1 traffic":  []schema.JobTraffic{{Fabric: "plane1", JobID: "17", Time: start, Read: new(5.0)}},
	}
	if diff := cmp.Diff(want, got); diff != "" || len(out.list) != len(want) {
		t.Errorf("%d records (-want +got):\n%s", len(out.list), diff)
	}
}

// After a new topology version nodes are resolved in it; rejection by the encoder is permanent.
func TestFeedsTakeGraphs(t *testing.T) {
	nodeMap := filepath.Join(t.TempDir(), "nodes.tsv")
	if err := os.WriteFile(nodeMap, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	set, out, dir := feedsOf(t, strings.ReplaceAll(feedsConfig, "DIR/nodes.tsv", nodeMap))
	jobFile := filepath.Join(dir, "jobs.jsonl")
	line := `{"job_id":"17","nodes":["7,7,7"],"start":"2026-01-05T00:30:00Z"}` + "\n"
	if err := os.WriteFile(jobFile, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	runner := set.runners()[0]
	runner.Once(t.Context())
	if len(out.list) != 0 {
		t.Error("a job without a device was sent")
	}
	g := topologytest.Parse(t, "plane0", "torus:8x8x8")
	if !set.uses("plane0") || set.uses("plane2") {
		t.Error("which fabrics feeds use is not known")
	}
	if err := set.setGraph(g); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(jobFile, []byte(line+strings.Replace(line, "17", "18", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	runner.Once(t.Context())
	if len(out.list) != 1 {
		t.Errorf("%d records after the graph has grown, want 1", len(out.list))
	}
	out.err = &kafka.RefusedError{}
	err := set.out.EmitJobs(t.Context(), "plane0", []schema.Job{{Fabric: "plane0", ID: "1"}})
	if _, final := errors.AsType[*feeds.FinalError](err); !final {
		t.Errorf("a record that the broker refused: %v", err)
	}
	err = set.out.EmitJobs(t.Context(), "plane0", []schema.Job{{Fabric: "plane0"}})
	if _, final := errors.AsType[*feeds.FinalError](err); !final {
		t.Errorf("a row that cannot be encoded: %v", err)
	}
}
