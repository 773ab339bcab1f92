package prober_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/hostping/prober"
	"github.com/giverny/giverny/internal/coprocess"
)

// programArgument makes the test binary a prober program.
const programArgument = "prober-program"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == programArgument {
		speak(os.Args[2])
		return
	}
	goleak.VerifyTestMain(m)
}

// speak answers probes by the endpoint, each name of which selects a behaviour.
func speak(utilisation string) {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var r struct {
			Type, RNIC, Endpoint string
			ID, Bytes, QPs       int
		}
		if err := json.Unmarshal(in.Bytes(), &r); err != nil {
			panic(err)
		}
		switch {
		case r.Type == "stop":
			return
		case r.Type == "utilisation":
			fmt.Println(utilisation)
		case r.Endpoint == "hangs":
			time.Sleep(time.Hour)
		case r.Endpoint == "dies":
			os.Exit(3)
		case r.Endpoint == "absent":
			fmt.Printf("{\"id\":%d,\"status\":\"invalid\",\"detail\":\"no such GPU\"}\n", r.ID)
		case strings.HasPrefix(r.Endpoint, "{"):
			fmt.Println(r.Endpoint)
		default:
			fmt.Printf("{\"id\":%d,\"status\":\"ok\",\"latency_us\":[%d.5,2]}\n", r.ID, r.Bytes/r.QPs)
		}
	}
}

func newExec(t *testing.T, utilisation string) *prober.Exec {
	t.Helper()
	p, err := prober.NewExec(prober.DefaultExecConfig([]string{os.Args[0], programArgument, utilisation}), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func probe(id int, endpoint string) hostping.Probe {
	return hostping.Probe{ID: id, Pair: hostping.Pair{RNIC: "mlx5_0", Endpoint: endpoint}, Bytes: 64, QPs: 2, Repeat: 2}
}

func TestExec(t *testing.T) {
	p := newExec(t, `{"rnics":{"mlx5_0":0.5},"processes":[{"pid":7,"name":"trainer","links":{"L":0.6}}]}`)
	r, err := p.Probe(t.Context(), probe(1, "gpu0"))
	if err != nil || r.Status != hostping.OK || len(r.LatencyMicros) != 2 || r.LatencyMicros[0] != 32.5 {
		t.Fatalf("%+v, %v", r, err)
	}
	if r, err := p.Probe(t.Context(), probe(2, "absent")); err != nil || r.Status != hostping.Invalid || r.Detail != "no such GPU" {
		t.Errorf("%+v, %v", r, err)
	}
	u, err := p.Utilisation(t.Context())
	if err != nil || u.RNICs["mlx5_0"] != 0.5 || u.Processes[0].Links["L"] != 0.6 {
		t.Errorf("%+v, %v", u, err)
	}
}

// Protocol violations are named, and the next probe works.
func TestFaultsOfPrograms(t *testing.T) {
	for endpoint, want := range map[string]string{
		"dies":                         "it ended",
		"hangs":                        "timed out",
		`{"id":9,"status":"ok"}`:       "the answer has another id",
		`{"id":1,"status":"splendid"}`: `status "splendid"`,
		`{"id":1,"status":"ok"}`:       "0 latencies",
		`{"id":1,"status":"ok","latency_us":[1,2,3]}`: "3 latencies",
		`{"id":1,"status":"ok","latency_us":[0]}`:     "microseconds above 0",
		`{"id":1,"status":"ok","latency_us":[null]}`:  "microseconds above 0",
		`{"id":1,`: "unexpected end of JSON",
	} {
		p := newExec(t, "{}")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if endpoint == "hangs" {
			ctx, cancel = context.WithTimeout(t.Context(), 200*time.Millisecond)
		}
		_, err := p.Probe(ctx, probe(1, endpoint))
		cancel()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", endpoint, err, want)
		}
		if r, err := p.Probe(t.Context(), probe(2, "gpu0")); err != nil || r.Status != hostping.OK {
			t.Errorf("after %s: %+v, %v", endpoint, r, err)
		}
	}
	for text, want := range map[string]string{`{"rnics":{"a":7}}`: `"a" is 7`, `nothing`: "invalid character", `{"links":{"a":-1}}`: `"a" is -1`} {
		if u, err := newExec(t, text).Utilisation(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v", text, u, err)
		}
	}
}

// A program that keeps failing is given up at once.
func TestProgramThatIsGone(t *testing.T) {
	cfg := prober.DefaultExecConfig([]string{os.Args[0], programArgument, "{}"})
	cfg.Restarts, cfg.Backoff = 2, time.Millisecond
	p, err := prober.NewExec(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if _, err := p.Probe(t.Context(), probe(i+1, "dies")); err == nil || errors.Is(err, coprocess.ErrGone) {
			t.Errorf("failure %d: %v", i, err)
		}
	}
	if _, err := p.Probe(t.Context(), probe(9, "gpu0")); !errors.Is(err, coprocess.ErrGone) {
		t.Errorf("after three failures: %v", err)
	}
}
