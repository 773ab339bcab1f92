package local_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/hostping/local"
	"github.com/giverny/giverny/hostping/order"
	"github.com/giverny/giverny/hostping/prober/probertest"
)

// programArgument makes the test binary a prober.
const programArgument = "prober-program"

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == programArgument {
		if err := probertest.Main(os.Args[2:], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// place is the files of a host.
type place struct {
	cfg   local.Config
	fault string // path; while the file is missing the host is healthy
	dir   string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	dir := t.TempDir()
	p := &place{local.DefaultConfig(), filepath.Join(dir, "fault"), filepath.Join(dir, "state")}
	p.cfg.Graph = filepath.Join(dir, "host.xml")
	write(t, p.cfg.Graph, probertest.Machine("2x4-rails"))
	p.cfg.Prober, p.cfg.Command = "exec", []string{os.Args[0], programArgument, p.cfg.Graph, p.fault}
	p.cfg.SharePercent = 100
	return p
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (p *place) open(t *testing.T) *local.Host {
	t.Helper()
	if err := p.cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	h, err := local.New(p.cfg, local.Deps{Dir: p.dir, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// A host takes a baseline, is healthy, then a memory channel fails and is named; the history survives the process.
func TestRun(t *testing.T) {
	p := newPlace(t)
	h := p.open(t)
	out, err := h.Run(t.Context(), &local.Order{Request: order.Request{Mode: order.Baseline}, Trigger: order.Commanded})
	if err != nil || out.Baseline == nil || len(out.Baseline.Pairs) != len(h.Graph().Paths) || out.Report != nil {
		t.Fatalf("baseline %+v, %v", out, err)
	}
	text, err := json.Marshal(out.Baseline)
	if err != nil {
		t.Fatal(err)
	}
	p.cfg.Baseline = filepath.Join(p.dir, "..", "baseline.json")
	write(t, p.cfg.Baseline, string(text))
	h = p.open(t)
	full := &local.Order{Request: order.Request{Mode: order.Full, Region: 5}, Trigger: order.Commanded}
	if out, err = h.Run(t.Context(), full); err != nil || len(out.Report.Verdicts) != 0 || out.Probes == 0 || out.Region != 5 || out.Model != h.Graph().Model {
		t.Fatalf("healthy: %+v, %v", out.Report, err)
	}
	link := ""
	for _, l := range h.Graph().Links {
		if l.B == "numa1" {
			link = l.ID
		}
	}
	write(t, p.fault, "memory_channel_failure "+link+" 0.5")
	if out, err = p.open(t).Run(t.Context(), full); err != nil || len(out.Report.Verdicts) != 1 || out.Report.Verdicts[0].Link != link {
		t.Fatalf("failed channel: %+v, %v", out.Report, err)
	}
	if s := order.Sentence("host56", out.Report, out.Graph); !strings.HasPrefix(s, "host56: memory channel of numa1 at ") || !strings.Contains(s, "cleared: its PCIe links") {
		t.Errorf("sentence %q", s)
	}
	if err := os.Remove(p.fault); err != nil {
		t.Fatal(err)
	}
	if out, err = p.open(t).Run(t.Context(), full); err != nil || len(out.Report.Verdicts) != 1 || out.Report.Verdicts[0].Bottleneck != hostping.MemoryChannelFlapping {
		t.Errorf("a channel that is good again is flapping: %+v, %v", out.Report, err)
	}
	if out, err = h.Run(t.Context(), &local.Order{Request: order.Request{Mode: order.Affinitive, RNIC: h.Graph().RNICs[0].ID}, Trigger: order.Paused}); err != nil || out.Report.State != hostping.Busy || out.Trigger != order.Paused {
		t.Errorf("affinitive: %+v, %v", out.Report, err)
	}
}

func TestCheck(t *testing.T) {
	p := newPlace(t)
	h := p.open(t)
	other := &hostping.Baseline{Version: hostping.BaselineVersion, Model: "another", LargeBytes: hostping.LargeBytes, Pairs: []hostping.PairBaseline{{}}}
	for name, c := range map[string]struct {
		order order.Request
		want  string
	}{
		"no baseline":        {order.Request{Mode: order.Full}, "no baseline of model"},
		"another's baseline": {order.Request{Mode: order.Full, Baseline: other}, "of another model"},
		"no such RNIC":       {order.Request{Mode: order.Affinitive, RNIC: "mlx9", Baseline: other}, `no RNIC "mlx9"`},
	} {
		if out, err := h.Run(t.Context(), &local.Order{Request: c.order}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v", name, out, err)
		}
	}
	p.cfg.Command = []string{"no-such-prober"}
	if _, err := p.open(t).Run(t.Context(), &local.Order{Request: order.Request{Mode: order.Baseline}}); err == nil || !strings.Contains(err.Error(), "no-such-prober") {
		t.Errorf("a prober that is missing: %v", err)
	}
}

// One run at a time, and a run ends with its context.
func TestOneAtATime(t *testing.T) {
	p := newPlace(t)
	p.cfg.Pause = time.Minute
	begun, once := make(chan struct{}), sync.Once{}
	h, err := local.New(p.cfg, local.Deps{Dir: p.dir, Log: slog.New(slog.DiscardHandler), Now: func() time.Time {
		once.Do(func() { close(begun) }) // a run reads the time once it holds the host
		return time.Now()
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	take := &local.Order{Request: order.Request{Mode: order.Baseline}}
	go func() {
		_, err := h.Run(ctx, take)
		ended <- err
	}()
	<-begun
	if _, err := h.Run(t.Context(), take); !errors.Is(err, local.ErrRunning) {
		t.Errorf("two runs at a time: %v", err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// Probing as much as possible for ten minutes, an RNIC uses its share and the burst.
func TestShare(t *testing.T) {
	const percent = 2.
	s := local.NewShare(percent)
	now := time.Unix(1000, 0)
	end := now.Add(10 * time.Minute)
	used := map[string]time.Duration{}
	const probe = 300 * time.Millisecond
	for now.Before(end) {
		for _, rnic := range []string{"mlx5_0", "mlx5_1"} {
			if s.Wait(rnic, now) == 0 {
				now = now.Add(probe)
				s.Used(rnic, probe, now)
				used[rnic] += probe
			}
		}
		now = now.Add(s.Wait("mlx5_0", now)/2 + time.Millisecond)
	}
	most := time.Duration(percent/100*float64(15*time.Minute)) + probe
	for rnic, u := range used {
		if u > most || u < most/2 {
			t.Errorf("%s was probed for %v, want up to %v and more than half of it", rnic, u, most)
		}
	}
}
