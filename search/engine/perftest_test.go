package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/search"
	"github.com/giverny/giverny/search/engine"
)

func openPerftest(t *testing.T, rig engine.Rig) *engine.Perftest {
	t.Helper()
	e, err := engine.NewPerftest(&rig, 0, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// workload returns a workload of an engine's space: a plain one with changes.
func workload(t *testing.T, e engine.Engine, changes string) search.Workload {
	t.Helper()
	d, err := e.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	space, err := search.NewSpace(d.Dimensions)
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]any{"direction": "uni", "transport": "RC_WRITE", "mtu": 1024, "wqe_batch": 1, "receive_batch": 1,
		"wq_depth": 128, "qps": 4, "memory_regions": "shared", "sizes": []int{65536}}
	if err := json.Unmarshal([]byte(changes), &named); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(named)
	if err != nil {
		t.Fatal(err)
	}
	w, err := space.ParseWorkload(text)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestPerftestDescribesTheHosts(t *testing.T) {
	t.Parallel()
	rig, _ := fakeRig(t)
	e := openPerftest(t, rig)
	defer closed(t, e)
	d, err := e.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d.LineRateGbps != 100 || d.MessageRateMpps != 11 || strings.Join(d.Counters, " ") != "ethtool/rx_discards_phy hw_counters/np_cnp_sent hw_counters/out_of_buffer" {
		t.Errorf("%+v", d)
	}
	if len(d.PacketRates) != 3 || d.PacketRates[0] != (search.PacketRate{SizeBytes: 64, Mpps: 11}) || d.PacketRates[2].SizeBytes != 1024 {
		t.Errorf("calibrated %v; want 64 to 1024 bytes", d.PacketRates)
	}
}

// The measurement is taken from the table and the counters.
func TestPerftestMeasures(t *testing.T) {
	t.Parallel()
	rig, folder := fakeRig(t)
	e := openPerftest(t, rig)
	defer closed(t, e)
	for _, c := range []struct {
		does, workload string
		symptom        search.Symptom
		status         search.Status
		pause          float64
		directions     int
	}{
		{"", `{}`, search.Healthy, search.OK, 0, 1},
		{"", `{"direction":"bi","transport":"RC_SEND","qps":16}`, search.Healthy, search.OK, 0, 2},
		{"", `{"sizes":[64]}`, search.Healthy, search.OK, 0, 1},
		{"pause", `{}`, search.Pause, search.OK, 12, 1},
		{"lopsided", `{"direction":"bi"}`, search.Throughput, search.OK, 0, 2},
		{"congested", `{}`, search.Healthy, search.NotQuiet, 0, 1},
		{"refuse", `{}`, search.Healthy, search.SetupFailed, 0, 0},
	} {
		t.Run(c.does+c.workload, func(t *testing.T) {
			w := workload(t, e, c.workload)
			behave(t, folder, c.does)
			m, err := e.Measure(t.Context(), 1, w)
			if err != nil {
				t.Fatal(err)
			}
			d, err := e.Describe(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if m.Status != c.status || len(m.Directions) != c.directions || d.Judge(&m) != c.symptom {
				t.Fatalf("%+v; want %+v", m, c)
			}
			if m.Status == search.OK && (math.Abs(m.TxPausePercent[1]-c.pause) > .01 || m.TxPausePercent[0] != 0 || m.Counters["hw_counters/out_of_buffer"] != 100) {
				t.Errorf("%+v; want a pause of %v and 2 x 50 buffers a second", m, c.pause)
			}
		})
	}
}

// Samples are taken until four agree.
func TestPerftestTakesSamples(t *testing.T) {
	t.Parallel()
	rig, folder := fakeRig(t)
	rig.Samples = 12
	e := openPerftest(t, rig)
	defer closed(t, e)
	w := workload(t, e, `{}`)
	before := transfers(t, folder)
	if m, err := e.Measure(t.Context(), 1, w); err != nil || m.Status != search.OK {
		t.Fatalf("%+v, %v", m, err)
	}
	if n := transfers(t, folder) - before; n != 4 {
		t.Errorf("%d samples; want 4", n)
	}
}

func transfers(t *testing.T, folder string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "transfers"))
	if err != nil {
		t.Fatal(err)
	}
	return len(text)
}

// Workloads that perftest does not support cost nothing.
func TestPerftestRefuses(t *testing.T) {
	t.Parallel()
	rig, folder := fakeRig(t)
	rig.Memory = []string{"node0", "gpu1"}
	e := openPerftest(t, rig)
	defer closed(t, e)
	for _, changes := range []string{
		`{"memory_a":"node0","memory_b":"gpu1"}`,
		`{"memory_a":"node0","memory_b":"node0","transport":"UD_SEND"}`, // over the MTU
		`{"memory_a":"node0","memory_b":"node0","wq_depth":16,"wqe_batch":32}`,
	} {
		w := workload(t, e, changes)
		behave(t, folder, "refuse")
		m, err := e.Measure(t.Context(), 1, w)
		if err != nil || m.Status != search.Invalid {
			t.Errorf("%s: %+v, %v; want it to be invalid", changes, m, err)
		}
	}
	behave(t, folder, "")
	m, err := e.Measure(t.Context(), 2, workload(t, e, `{"memory_a":"node0","memory_b":"node0","transport":"UD_SEND","sizes":[1024],"memory_regions":"per_qp"}`))
	if err != nil || m.Status != search.OK {
		t.Errorf("%+v, %v; want it to be measured", m, err)
	}
}

// A server whose client died is killed, and the next measurement works.
func TestHalfDeadPeerIsCleanedUp(t *testing.T) {
	t.Parallel()
	rig, folder := fakeRig(t)
	rig.Timeout = 10 * time.Second // for the hanging one, and enough for the next on a busy machine
	e := openPerftest(t, rig)
	defer closed(t, e)
	w := workload(t, e, `{}`)
	behave(t, folder, "halfdead")
	m, err := e.Measure(t.Context(), 1, w)
	var fault *engine.Fault
	if err == nil && m.Status != search.SetupFailed || err != nil && !errors.As(err, &fault) {
		t.Fatalf("%+v, %v; want a failed set-up or a fault", m, err)
	}
	if out, err := exec.Command("pgrep", "-f", "--", "ib_write_bw.*--port="+strconv.Itoa(rig.Port)).Output(); err == nil {
		t.Errorf("still running: %s", out)
	}
	behave(t, folder, "")
	if m, err = e.Measure(t.Context(), 2, w); err != nil || m.Status != search.OK {
		t.Errorf("%+v, %v; want it to be measured", m, err)
	}
}

// A calibration that hangs is a fault that names the sides, and can be retried.
func TestCalibrationThatHangs(t *testing.T) {
	t.Parallel()
	rig, folder := fakeRig(t)
	rig.Timeout = 2 * time.Second
	e := openPerftest(t, rig)
	defer closed(t, e)
	behave(t, folder, "hang")
	_, err := e.Describe(t.Context())
	var fault *engine.Fault
	if !errors.As(err, &fault) || fault.Reason != engine.Late || !strings.Contains(err.Error(), "the server on root@right, the client on root@left") {
		t.Fatalf("%v; want a fault that names both sides", err)
	}
	behave(t, folder, "")
	if _, err := e.Describe(t.Context()); err != nil && !errors.As(err, &fault) { // a busy machine may be late again
		t.Error(err)
	}
}

// If perftest could not measure the CPU frequency its rate is 0, which is not a measurement.
func TestRateWithoutAClock(t *testing.T) {
	t.Parallel()
	rig, folder := fakeRig(t)
	behave(t, folder, "clockless")
	e := openPerftest(t, rig)
	defer closed(t, e)
	d, err := e.Describe(t.Context())
	if err != nil || d.MessageRateMpps != 11 {
		t.Fatalf("%+v, %v", d, err)
	}
	m, err := e.Measure(t.Context(), 1, workload(t, e, `{}`))
	if err != nil || m.Status != search.OK || m.Directions[0].Mpps <= 0 {
		t.Errorf("%+v, %v", m, err)
	}
}

// On a host without pkill the clean-up fails, which is logged.
func TestCleaningUpThatFails(t *testing.T) {
	t.Parallel()
	rig, folder := fakeRig(t)
	var said strings.Builder
	e, err := engine.NewPerftest(&rig, 0, slog.New(slog.NewTextHandler(&said, nil)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Describe(t.Context()); err != nil || strings.Contains(said.String(), "cleanup failed") {
		t.Fatalf("%v, %s", err, &said)
	}
	if err := os.WriteFile(filepath.Join(folder, "pkill"), []byte("#!/bin/sh\necho pkill: not found >&2\nexit 127\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	closed(t, e)
	if n := strings.Count(said.String(), "cleanup failed"); n != 2 {
		t.Errorf("%d warnings, want one of each host: %s", n, &said)
	}
}

// A host unreachable by ssh is a fault, and after several in a row the engine is gone.
func TestUnreachableHost(t *testing.T) {
	t.Parallel()
	rig, folder := fakeRig(t)
	e := openPerftest(t, rig)
	defer closed(t, e)
	w := workload(t, e, `{}`)
	behave(t, folder, "unreachable")
	var err error
	for n := range 30 {
		_, err = e.Measure(t.Context(), n+1, w)
		var fault *engine.Fault
		if !errors.As(err, &fault) || fault.Reason != engine.Died {
			t.Fatalf("%v; want a fault", err)
		}
		if errors.Is(err, engine.ErrGone) {
			break
		}
	}
	if !errors.Is(err, engine.ErrGone) || !strings.Contains(err.Error(), "No route to host") {
		t.Errorf("%v; want the engine gone, and why", err)
	}
}

// Ctrl-C ends a measurement, and what runs on the hosts.
func TestPerftestEndsWithTheContext(t *testing.T) {
	t.Parallel()
	rig, folder := fakeRig(t)
	e := openPerftest(t, rig)
	defer closed(t, e)
	w := workload(t, e, `{}`)
	behave(t, folder, "halfdead")
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if _, err := e.Measure(ctx, 1, w); !errors.Is(err, context.DeadlineExceeded) {
		t.Logf("ended before: %v", err)
	}
	if out, err := exec.Command("pgrep", "-f", "--", "ib_write_bw.*--port="+strconv.Itoa(rig.Port)).Output(); err == nil {
		t.Errorf("still running: %s", out)
	}
}
