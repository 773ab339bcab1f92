package engine_test

import (
	"log/slog"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/giverny/giverny/search"
	"github.com/giverny/giverny/search/engine"
)

func openCollie(t *testing.T, rig engine.Rig) *engine.Collie {
	t.Helper()
	rig.MessageRateMpps = 100
	e, err := engine.NewCollie(&rig, 0, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// The workload becomes collie_engine's own arguments, the ports' counters are measured,
// and nothing keeps running afterwards.
func TestCollieMeasures(t *testing.T) {
	t.Parallel()
	rig, folder := fakeRig(t)
	rig.Memory = []string{"node0", "gpu1"}
	rig.TrafficClass = 105
	e := openCollie(t, rig)
	defer closed(t, e)
	const plain = `{"sge":3,"memory_regions":8,"region_bytes":65536,"sizes":[64,65536],"memory_a":"node0","memory_b":"gpu1","transport":"RC_SEND"`
	m, err := e.Measure(t.Context(), 1, workload(t, e, plain+`,"direction":"bi"}`))
	if err != nil || m.Status != search.OK || len(m.Directions) != 2 {
		t.Fatalf("%+v, %v; want both directions", m, err)
	}
	for _, d := range m.Directions {
		// 50 Gb/s on an idle machine; on a busy one the rig reads late. Bytes mistaken for bits would give below 10.
		if d.Gbps < 10 || d.Gbps > 65 || math.Abs(d.SizeBytes-50e9/8/6e6) > 1 {
			t.Errorf("%+v; want up to 50 Gb/s of packets of 1042 bytes", d)
		}
	}
	text, err := os.ReadFile(filepath.Join(folder, "traffic"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"--mr_num=8 --buf_num=1 --buf_size=65536 --send_batch=1 --recv_batch=1 --send_wq_depth=128 --recv_wq_depth=128 --qp_num=4 --mtu=3 --qp_type=2",
		"--request=s_3_22_21_21,s_3_21846_21845_21845 --receive=3_22_21_21,3_21846_21845_21845 --share_mr --tos=105", "--run_infinitely"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the arguments %s; want %s", text, want)
		}
	}
	if out, err := exec.Command("pgrep", "-f", "--", "collie_engine.*--port="+strconv.Itoa(rig.Port)).Output(); err == nil {
		t.Errorf("still running: %s", out)
	}
	for _, changes := range []string{`,"direction":"uni","wqe_batch":64,"wq_depth":16}`, `,"transport":"UD_SEND"}`, `,"region_bytes":4096}`} {
		if m, err := e.Measure(t.Context(), 2, workload(t, e, plain+changes)); err != nil || m.Status != search.Invalid {
			t.Errorf("%s: %+v, %v; want it to be invalid", changes, m, err)
		}
	}
	behave(t, folder, "refuse")
	if m, err := e.Measure(t.Context(), 3, workload(t, e, plain+`,"direction":"loopback"}`)); err != nil || m.Status != search.SetupFailed {
		t.Errorf("%+v, %v; want a failed set-up", m, err)
	}
}
