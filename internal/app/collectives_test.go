//go:build integration

package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/collective/detect"
	"github.com/giverny/giverny/collective/report"
	"github.com/giverny/giverny/collective/simulated"
	"github.com/giverny/giverny/collective/watch"
	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/lifecycle"
	"github.com/giverny/giverny/internal/test/await"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/incident"
	"github.com/giverny/giverny/store/engine"
	"github.com/giverny/giverny/topology"
)

// A simulated collective slowed by a background flow is published over Kafka to the analyser, stored in the real engine,
// and read from the API: with its diagnosis, the regions that its flows crossed, their cost, and, from the region, the
// job. A region on links used by no flow is not included. It is published in two ways: by another process like giverny
// collective publish, through the socket of the embedded broker, and by the agent, which finds its records in a watched
// folder. Both sign what they send.
func TestCollectiveFromRecordsToTheAPI(t *testing.T) {
	library, err := engine.FindLibrary("")
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.DataDir, cfg.HTTP.Listen, cfg.Store.Library = t.TempDir(), "127.0.0.1:0", library
	cfg.HTTP.Metrics.Listen = "127.0.0.1:0"
	entry := config.DefaultFabric()
	entry.Name, entry.Topology, entry.Partition, entry.Analysis.Window.Interval = "ib0", "fattree:k=4", 0, time.Second
	cfg.Fabrics = []config.Fabric{entry}
	watched := &cfg.Collect.Collectives
	watched.Folders, watched.Interval, watched.Settle = []watch.Folder{{Dir: t.TempDir(), Format: "simulated"}}, 50*time.Millisecond, 200*time.Millisecond
	cfg.Collect.Polling.Fabric, cfg.Collect.Polling.Interval = "ib0", time.Second
	// The analyser rejects results not signed with this key.
	cfg.Command.Results.KeyFile = filepath.Join(cfg.DataDir, "agent.pem")
	public, err := command.CreateKey(cfg.Command.Results.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Command.Results.Agents = []command.AgentKeys{{Name: "*", Keys: []string{public}}}
	fabrics, err := LoadFabrics(cfg.Fabrics, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	p := New(cfg, "test", slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})))
	parts, err := p.Make(Role{Analyse: true, Serve: true, Collect: true}, fabrics)
	if err != nil {
		t.Fatal(err)
	}
	l, err := p.Listen()
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now().Truncate(time.Second).Add(-time.Minute)
	run, r := slowedCollective(t, begin)
	appear(t, filepath.Join(watched.Folders[0].Dir, "18"), run)
	done := errors.New("done")
	err = p.Run(t.Context(), l, func(ctx context.Context) ([]Step, error) {
		steps, err := parts.Steps(ctx)
		check := lifecycle.Stage{Name: "check", Run: func(ctx context.Context) error {
			if err := p.db.Store(ctx, congested(fabrics[0].Graph, begin)); err != nil {
				return err
			}
			api := l.URL(false) + "/api/v1/fabrics/ib0/"
			id, err := New(cfg, "test", p.log).PublishCollective(ctx, "", &r)
			if err == nil {
				err = checkCollective(api, id, begin, &r)
			}
			if err == nil {
				_, err = awaitCollective(api, "18", "", &r)
			}
			return errors.Join(err, done)
		}}
		return append([]Step{{check}}, steps...), err
	})
	if !errors.Is(err, done) || strings.Contains(err.Error(), "\n") { // joined with another error
		t.Fatal(err)
	}
}

// slowedCollective returns the report of a collective whose ranks are on hosts of the fabric.
func slowedCollective(t *testing.T, begin time.Time) (collective.Run, report.Report) {
	t.Helper()
	in, err := incident.New(incident.Spec{Class: collective.BackgroundFlow, Algorithm: collective.Ring, ChunkBytes: 1 << 20, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	result, err := in.Simulate(detect.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	d := collective.Diagnose(result.Run, collective.Options{})
	if len(d.Culprits) == 0 || d.Culprits[0].Class != collective.BackgroundFlow {
		t.Fatalf("culprits %+v", d.Culprits)
	}
	m := report.Meta{Job: "17", Format: "simulated", Begin: schema.InstantOf(begin)}
	for _, rank := range result.Run.Ranks {
		m.Devices = append(m.Devices, []string{"host" + rank.Node})
	}
	r, err := report.New(result.Run, d, m)
	if err != nil {
		t.Fatal(err)
	}
	return result.Run, r
}

// appear makes the records of a run appear in a folder like those of a program that renames a temporary file.
func appear(t *testing.T, dir string, run collective.Run) {
	t.Helper()
	var text, names strings.Builder
	err := simulated.Write(&text, &run)
	for _, rank := range run.Ranks {
		fmt.Fprintf(&names, "%s\thost%s\n", rank.Node, rank.Node)
	}
	final := filepath.Join(dir, simulated.FileName)
	if err := errors.Join(err, os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, watch.NodeMapName), []byte(names.String()), 0o600),
		os.WriteFile(final+".tmp", []byte(text.String()), 0o600), os.Rename(final+".tmp", final)); err != nil {
		t.Fatal(err)
	}
}

// congested is an interval with a region on every uplink of leaves, and one on the link to a host without a rank.
func congested(g *topology.Graph, begin time.Time) *schema.IntervalResult {
	region := func(id uint64, wanted func(l topology.Link) bool) schema.Region {
		r := schema.Region{ID: id, Metric: schema.CreditStall, Severity: schema.High, Mean: 40, Max: 50, Name: "of the test"}
		for l := range schema.LinkID(g.NumLinks()) {
			if wanted(g.Link(l)) {
				r.Links = append(r.Links, l)
			}
		}
		r.Size = len(r.Links)
		return r
	}
	level := func(d topology.DeviceID) int8 { return g.Device(d).Level }
	return &schema.IntervalResult{Snapshot: &schema.Snapshot{Fabric: "ib0", GraphVersion: g.Version(), Links: g.NumLinks(), Interval: schema.Interval{StartNanos: begin.UnixNano(), DurationNanos: int64(time.Second)}},
		Regions: []schema.Region{
			region(4711, func(l topology.Link) bool { return level(l.From) == 1 && level(l.To) == 2 }),
			region(4712, func(l topology.Link) bool { return g.Device(l.To).Name == "host15" })}}
}

// crossedRegion is a region of a collective, or a collective of a region, in the API's format.
type crossedRegion struct {
	Job    string `json:"job_id"`
	Region string
	CostNS int64 `json:"cost_ns"`
	Text   string
}

// awaitCollective waits until the API lists a collective of a job; its culprits, and its ID if given, must match the report.
func awaitCollective(api, job, id string, r *report.Report) (runID string, err error) {
	var list struct {
		Collectives []struct {
			RunID    string `json:"run_id"`
			Culprits []struct {
				Class  string
				CostNS int64 `json:"cost_ns"`
			}
		}
	}
	listed := await.Holds(time.Minute, 50*time.Millisecond, func() bool {
		err = ask(api+"collectives?job="+job, &list)
		return err != nil || len(list.Collectives) > 0
	})
	switch {
	case err != nil:
		return "", err
	case !listed:
		return "", fmt.Errorf("the collective of job %s does not get into the API", job)
	}
	c := list.Collectives[0]
	if id != "" && c.RunID != id || len(c.Culprits) != len(r.Diagnosis.Culprits) || c.Culprits[0].Class != "background_flow" || c.Culprits[0].CostNS != r.Diagnosis.Culprits[0].CostNanos {
		return "", fmt.Errorf("job %s: %+v", job, c)
	}
	return c.RunID, nil
}

func checkCollective(api, id string, begin time.Time, r *report.Report) error {
	cost := r.Diagnosis.Culprits[0].CostNanos
	if _, err := awaitCollective(api, "17", id, r); err != nil {
		return err
	}
	var run struct {
		Diagnosis struct {
			CriticalPath []collective.Segment `json:"critical_path"`
		}
		Timeline struct{ Row []int }
		Regions  []crossedRegion
	}
	if err := ask(api+"collectives/"+id, &run); err != nil {
		return err
	}
	sum := int64(0)
	for _, s := range run.Diagnosis.CriticalPath {
		sum += s.EndNanos - s.BeginNanos
	}
	if sum != r.Diagnosis.MakespanNanos || len(run.Timeline.Row) == 0 || len(run.Regions) != 1 || run.Regions[0].Region != "4711" || run.Regions[0].CostNS < cost*9/10 {
		return fmt.Errorf("path of %d ns, %d steps, regions %+v; culprit costs %d", sum, len(run.Timeline.Row), run.Regions, cost)
	}
	var region struct{ Collectives []crossedRegion }
	if err := ask(api+"tracks/4711/collectives?from="+begin.UTC().Format(time.RFC3339), &region); err != nil {
		return err
	}
	want := crossedRegion{"17", "4711", run.Regions[0].CostNS, run.Regions[0].Text}
	if len(region.Collectives) != 1 || region.Collectives[0] != want || !strings.HasPrefix(want.Text, fmt.Sprintf("region 4711 cost job 17 %.3g ms", float64(want.CostNS)/1e6)) {
		return fmt.Errorf("%+v, want %+v", region, want)
	}
	return nil
}

// ask reads an answer of the API.
func ask(url string, into any) error {
	response, err := http.Get(url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	return json.NewDecoder(response.Body).Decode(into)
}
