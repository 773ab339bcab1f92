package prober

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/giverny/giverny/hostping"
)

// tool is a fake perftest: it records its arguments, waits as a server, and prints the
// tables of perftest 4.5 as a client.
const tool = `#!/bin/sh
name=$(basename "$0")
case "$*" in
*--help*) echo "  --use_cuda=<cuda device id>"; exit 0;;
*mlx5_9*) echo "IB device mlx5_9 not found" >&2; exit 1;;
*mlx5_8*) exec sleep 3600;;
esac
echo "$name $*" >> "$LOG"
for last; do :; done
bytes=$(echo "$*" | sed 's/.*-s \([0-9]*\).*/\1/')
if [ "$last" != 127.0.0.1 ]; then exit 0; fi
case $name in
*_bw)
	echo " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]"
	echo " $bytes     400            98.10              97.90                0.500000";;
*)
	echo " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]"
	echo "#, usec"
	i=1; for v in 1 2 30 4 4 40 ; do echo "$i, $v"; i=$((i+1)); done
	echo " $bytes  6          1.00           40.00        4.00     	       7.50        	1.20		9.75   		9.75";;
esac
`

// numactl records its arguments and runs the command.
const numactl = `#!/bin/sh
echo "numactl $1 $2" >> "$LOG"
while [ "${1#--}" != "$1" ]; do shift; done
exec "$@"
`

// newPerftest has this test's tools on its path, and an RNIC at node 1.
func newPerftest(t *testing.T) (p *Perftest, log func() []string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"ib_write_lat", "ib_read_lat", "ib_write_bw"} {
		writeFile(t, filepath.Join(dir, name), tool)
	}
	writeFile(t, filepath.Join(dir, "numactl"), numactl)
	node := filepath.Join(dir, "class/infiniband/mlx5_0/device")
	if err := os.MkdirAll(node, 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(node, "numa_node"), "1\n")
	noted := filepath.Join(dir, "log")
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("LOG", noted)
	cfg := DefaultPerftestConfig()
	cfg.Writes, cfg.GID = 10, 3
	p, err := NewPerftest(cfg, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	p.sysfs = dir
	return p, func() []string {
		text, err := os.ReadFile(noted)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		slices.Sort(lines)
		return slices.Compact(lines)
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestPerftest(t *testing.T) {
	for name, c := range map[string]struct {
		endpoint   string
		bytes, qps int
		micros     []float64
		log        []string
	}{
		"memory": {"numa0", 1, 1, []float64{2, 4}, []string{
			"ib_write_lat -F -d mlx5_0 -i 1 -p 18615 -c RC -s 1 -n 21 -x 3 -U -I 0",
			"ib_write_lat -F -d mlx5_0 -i 1 -p 18615 -c RC -s 1 -n 21 -x 3 -U -I 0 127.0.0.1",
			"numactl --cpunodebind=1 --membind=0"}},
		"GPU": {"gpu2", 131072, 1, []float64{2, 4}, []string{
			"ib_read_lat -F -d mlx5_0 -i 1 -p 18615 -c RC -s 131072 -n 21 -x 3 -U --use_cuda=2",
			"ib_read_lat -F -d mlx5_0 -i 1 -p 18615 -c RC -s 131072 -n 21 -x 3 -U --use_cuda=2 127.0.0.1",
			"numactl --cpunodebind=1 ib_read_lat"}},
		"long": {"numa1", 64 << 20, 1, []float64{2, 4}, []string{ // one write per repetition, but perftest requires 5
			"ib_write_lat -F -d mlx5_0 -i 1 -p 18615 -c RC -s 67108864 -n 5 -x 3 -U -I 0",
			"ib_write_lat -F -d mlx5_0 -i 1 -p 18615 -c RC -s 67108864 -n 5 -x 3 -U -I 0 127.0.0.1",
			"numactl --cpunodebind=1 --membind=1"}},
		"queue pairs": {"numa1", 4096, 8, []float64{16, 16}, []string{
			"ib_write_bw -F -d mlx5_0 -i 1 -p 18615 -c RC -s 4096 -n 10 -x 3 --report_gbits -q 8 -t 1 -Q 1",
			"ib_write_bw -F -d mlx5_0 -i 1 -p 18615 -c RC -s 4096 -n 10 -x 3 --report_gbits -q 8 -t 1 -Q 1 127.0.0.1",
			"numactl --cpunodebind=1 --membind=1"}},
	} {
		t.Run(name, func(t *testing.T) {
			p, log := newPerftest(t)
			r, err := p.Probe(t.Context(), hostping.Probe{ID: 1, Pair: hostping.Pair{RNIC: "mlx5_0", Endpoint: c.endpoint}, Bytes: c.bytes, QPs: c.qps, Repeat: 2})
			if err != nil || r.Status != hostping.OK || !slices.Equal(r.LatencyMicros, c.micros) {
				t.Errorf("%+v, %v, want %v", r, err, c.micros)
			}
			if got := log(); !slices.Equal(got, c.log) {
				t.Errorf("ran %q, want %q", got, c.log)
			}
		})
	}
}

func TestPerftestCannot(t *testing.T) {
	p, _ := newPerftest(t)
	p.cuda["ib_read_lat"] = false
	for name, c := range map[string]struct {
		pair   hostping.Pair
		detail string
	}{
		"no such device":   {hostping.Pair{RNIC: "mlx5_9", Endpoint: "numa0"}, "IB device mlx5_9 not found"},
		"no CUDA":          {hostping.Pair{RNIC: "mlx5_0", Endpoint: "gpu0"}, "built without CUDA"},
		"another endpoint": {hostping.Pair{RNIC: "mlx5_0", Endpoint: "disk0"}, `no endpoint "disk0"`},
		"an option":        {hostping.Pair{RNIC: "--help", Endpoint: "numa0"}, `"--help" is not an RDMA device`},
	} {
		r, err := p.Probe(t.Context(), hostping.Probe{ID: 1, Pair: c.pair, Bytes: 1, QPs: 1, Repeat: 1})
		if err != nil || r.Status != hostping.Invalid || !strings.Contains(r.Detail, c.detail) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

// Consecutive failures of an RNIC are logged once.
func TestPerftestLogsAFailureOnce(t *testing.T) {
	p, _ := newPerftest(t)
	var log strings.Builder
	p.log = slog.New(slog.NewTextHandler(&log, nil))
	for _, probe := range []struct {
		rnic  string
		lines int // of the log, by then
	}{{"mlx5_9", 1}, {"mlx5_9", 1}, {"mlx5_0", 1}, {"mlx5_9", 1}} {
		if _, err := p.Probe(t.Context(), hostping.Probe{ID: 1, Pair: hostping.Pair{RNIC: probe.rnic, Endpoint: "numa0"}, Bytes: 1, QPs: 1, Repeat: 1}); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(log.String(), "\n"); n != probe.lines {
			t.Errorf("%s: %d lines, want %d:\n%s", probe.rnic, n, probe.lines, log.String())
		}
	}
}

// A tool that hangs is killed with the probe.
func TestPerftestThatHangs(t *testing.T) {
	p, _ := newPerftest(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300_000_000)
	defer cancel()
	if r, err := p.Probe(ctx, hostping.Probe{ID: 1, Pair: hostping.Pair{RNIC: "mlx5_8", Endpoint: "numa0"}, Bytes: 1, QPs: 1, Repeat: 1}); err == nil {
		t.Errorf("%+v", r)
	}
}
