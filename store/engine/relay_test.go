package engine

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRelay(t *testing.T) {
	for _, tt := range []struct {
		name, output string
		want         []string
		wantLast     string
	}{
		{"record", `{"time":"x","level":"WARN","msg":"slow","n":3,"a":"b"}` + "\n",
			[]string{`level=WARN msg="engine: message of the engine process" said=slow a=b n=3`}, "slow"},
		{"information is no complaint", `{"level":"INFO","msg":"up"}` + "\n",
			[]string{`level=INFO msg="engine: message of the engine process" said=up`}, ""},
		{"ClickHouse", "2026.11.21 03:05:05.136 [ 15664 ] {a::b} <Error> Merge::Stage: disk: full\n0. ? @ 0x00001\n\n1. x @ 0x2\n",
			[]string{`level=ERROR msg="engine: message of the engine process" said="disk: full" source=Merge::Stage`}, "disk: full"},
		{"ClickHouse chatter", "2026.11.21 03:05:05.136 [ 1 ] {} <Debug> X: y\n",
			[]string{`level=DEBUG msg="engine: message of the engine process" said=y source=X`}, ""},
		{"command line", "Error: no such directory\n",
			[]string{`level=WARN msg="engine: message of the engine process" said="no such directory"`}, "no such directory"},
		{"crash", "panic: oh\n\ngoroutine 1:\nmain.main()",
			[]string{`level=ERROR msg="engine: message of the engine process" said="panic: oh" trace="panic: oh\n\ngoroutine 1:\nmain.main()"`}, "panic: oh"},
		{"not an object", "[1]\n", []string{`level=WARN msg="engine: message of the engine process" said=[1]`}, "[1]"},
		{"unknown level", `{"level":5}` + "\n", []string{`level=WARN msg="engine: message of the engine process" said=""`}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, piece := range []int{1, 7, len(tt.output)} { // output arrives in arbitrary pieces
				var log bytes.Buffer
				drop := func(_ []string, a slog.Attr) slog.Attr {
					if a.Key == slog.TimeKey {
						return slog.Attr{}
					}
					return a
				}
				r := &relay{log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: drop}))}
				for rest := tt.output; rest != ""; {
					n := min(piece, len(rest))
					if _, err := r.Write([]byte(rest[:n])); err != nil {
						t.Fatal(err)
					}
					rest = rest[n:]
				}
				if got := r.end(); got != tt.wantLast {
					t.Errorf("last complaint %q, want %q", got, tt.wantLast)
				}
				if diff := cmp.Diff(tt.want, strings.Split(strings.TrimSpace(log.String()), "\n")); diff != "" {
					t.Errorf("in pieces of %d (-want +got):\n%s", piece, diff)
				}
			}
		})
	}
}

func TestRelayBoundsWhatItKeeps(t *testing.T) {
	r := &relay{log: slog.New(slog.DiscardHandler)}
	for range 10 {
		r.Write(bytes.Repeat([]byte("x"), maxLine/2))
	}
	if len(r.partial) >= maxLine {
		t.Errorf("%d bytes of a line kept", len(r.partial))
	}
	r.Write([]byte("\npanic: x\n" + strings.Repeat("frame\n", 10*maxTrace)))
	if len(r.trace) > maxTrace {
		t.Errorf("%d lines of a trace kept", len(r.trace))
	}
}
