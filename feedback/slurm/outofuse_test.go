package slurm

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The outputs of scontrol, and of slurmrestd in both of its forms, are interpreted alike.
func TestOutOfUse(t *testing.T) {
	script := filepath.Join(t.TempDir(), "scontrol")
	text := "#!/bin/sh\ncat <<'E'\n" +
		"NodeName=n1 Weight=1 State=IDLE+DRAIN ThreadsPerCore=1 Reason=State=IDLE\n" +
		"NodeName=n2 Weight=1 State=MIXED+DRAIN ThreadsPerCore=1\n" +
		"NodeName=n3 Weight=1 State=IDLE ThreadsPerCore=1 Reason=State=IDLE+DRAIN\n" +
		"NodeName=n4 Weight=1 State=IDLE*+DRAIN ThreadsPerCore=1\n" +
		"NodeName=n5 Weight=1 State=DOWN+DRAIN ThreadsPerCore=1\nNode n6 not found\nE\nexit 1\n"
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answers := map[string]string{"n1": `{"name":"n1","weight":1,"state":["IDLE","DRAIN"]}`, "n2": `{"name":"n2","weight":1,"state":["MIXED","DRAIN"]}`,
			"n3": `{"name":"n3","weight":1,"state":"idle","state_flags":[]}`, "n4": `{"name":"n4","weight":1,"state":["IDLE","NOT_RESPONDING"]}`, "n5": `{"name":"n5","weight":1,"state":"down","state_flags":["DRAIN"]}`,
			"n6": `{"name":"n6","weight":1,"state":"idle","state_flags":["DRAIN"]}`}
		_, _ = w.Write([]byte(`{"nodes":[` + answers[filepath.Base(r.URL.Path)] + `]}`))
	}))
	defer server.Close()
	byCommand, byREST := DefaultConfig(), DefaultConfig()
	byCommand.Scontrol = []string{script}
	if err := byREST.REST.URL.UnmarshalText([]byte(server.URL)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		cfg  Config
		want map[string]string
	}{
		"scontrol":   {byCommand, map[string]string{"n1": "IDLE+DRAIN"}},
		"slurmrestd": {byREST, map[string]string{"n1": "IDLE+DRAIN", "n6": "idle+DRAIN"}},
	} {
		s, err := New(c.cfg, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.OutOfUse(t.Context(), []string{"n1", "n2", "n3", "n4", "n5", "n6", "--all"})
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}
