package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-openapi/strfmt"
	"github.com/prometheus/alertmanager/api/v2/client"
	"github.com/prometheus/alertmanager/api/v2/client/alert"
	"github.com/prometheus/alertmanager/api/v2/models"
	"golang.org/x/sync/errgroup"

	"github.com/giverny/giverny/feedback/alertmanager"
	"github.com/giverny/giverny/feedback/record/recordtest"
	"github.com/giverny/giverny/internal/secret"
	"github.com/giverny/giverny/internal/test/await"
	"github.com/giverny/giverny/internal/test/freeport"
	"github.com/giverny/giverny/schema"
)

// startAlertmanager builds the Alertmanager version in go.mod and starts it on loopback.
func startAlertmanager(t *testing.T) (address string) {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "alertmanager")
	if out, err := exec.Command("go", "build", "-o", binary, "github.com/prometheus/alertmanager/cmd/alertmanager").CombinedOutput(); err != nil {
		t.Fatalf("build alertmanager: %v\n%s", err, out)
	}
	config := filepath.Join(dir, "alertmanager.yml")
	if err := os.WriteFile(config, []byte("route: {receiver: none}\nreceivers: [{name: none}]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	address = freeport.Addr(t)
	cmd := exec.Command(binary, "--config.file="+config, "--storage.path="+filepath.Join(dir, "data"), "--web.listen-address="+address, "--cluster.listen-address=")
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait(); log.Close() })
	waitFor(t, "alertmanager to be ready", func() bool {
		answer, err := http.Get("http://" + address + "/-/ready")
		if err != nil {
			return false
		}
		answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
	return address
}

// start runs a sender until the test ends.
func start(t *testing.T, cfg alertmanager.Config) *alertmanager.Alertmanager {
	t.Helper()
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	a, err := alertmanager.New(cfg, recordtest.New(t, "alertmanager", alertmanager.Reasons()).Recorder)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running errgroup.Group
	running.Go(func() error { return a.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return a
}

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	await.Until(t, what, 90*time.Second, 50*time.Millisecond, done)
}

func result(minute int64, regions ...schema.Region) *schema.IntervalResult {
	return &schema.IntervalResult{Regions: regions, Snapshot: &schema.Snapshot{Fabric: "ib0",
		Interval: schema.Interval{StartNanos: time.Now().Add(time.Duration(minute-60) * time.Minute).UnixNano(), DurationNanos: int64(time.Minute)}}}
}

// alerts queries Alertmanager with its own client.
func alerts(t *testing.T, address string) map[string]*models.GettableAlert {
	t.Helper()
	c := client.NewHTTPClientWithConfig(strfmt.Default, &client.TransportConfig{Host: address, BasePath: "/api/v2/", Schemes: []string{"http"}})
	answer, err := c.Alert.GetAlerts(alert.NewGetAlertsParams())
	if err != nil {
		t.Fatal(err)
	}
	byRegion := map[string]*models.GettableAlert{}
	for _, a := range answer.Payload {
		if err := a.Validate(strfmt.Default); err != nil {
			t.Error(err)
		}
		byRegion[a.Labels["region"]+" "+a.Labels["severity"]+" "+a.Labels["class"]] = a
	}
	return byRegion
}

// A region is an alert in a real Alertmanager while it exists; when its class changes
// the old alert is resolved, and when it ends the new one is.
func TestRegionsAreAlerts(t *testing.T) {
	address := startAlertmanager(t)
	cfg := alertmanager.DefaultConfig()
	cfg.Enabled, cfg.DryRun, cfg.Resend = true, false, time.Second
	cfg.URLs = []secret.URL{secret.NewURL("http://127.0.0.1:1"), secret.NewURL("http://" + address + "/")} // one member of the cluster is away
	cfg.PageURL = "http://giverny.example/"
	a := start(t, cfg)

	born := time.Now().Add(-time.Hour).Truncate(time.Millisecond).UTC()
	region := schema.Region{ID: 1882497176567809, Metric: schema.CreditStall, Severity: schema.High, Mean: 31, Links: []schema.LinkID{1, 2}, BirthNanos: born.UnixNano(), Name: "pod 3, all \"uplinks\"\n"}
	a.Take(result(1, region, schema.Region{ID: 7, Severity: schema.Low}))
	const first = "1882497176567809 high unknown"
	waitFor(t, "the alert", func() bool { return alerts(t, address)[first] != nil })
	got := alerts(t, address)
	if len(got) != 1 {
		t.Errorf("alerts %v; a Low region is none", got)
	}
	alert := got[first]
	if started := time.Time(*alert.StartsAt); !started.Equal(born) || alert.Labels["fabric"] != "ib0" || alert.Labels["alertname"] != "GivernyCongestionRegion" || *alert.Status.State != "active" || !strings.HasPrefix(string(alert.GeneratorURL), cfg.PageURL+"?at=") {
		t.Errorf("alert %+v, started %v", alert.Alert, started)
	}
	ends := time.Time(*alert.EndsAt)
	waitFor(t, "it to be sent again", func() bool {
		now := alerts(t, address)[first]
		return now != nil && time.Time(*now.EndsAt).After(ends)
	})

	diagnosed := result(2, region)
	diagnosed.Diagnoses = []schema.Diagnosis{{Region: region.ID, Metric: region.Metric, Cause: schema.Cause{Class: schema.CauseSystem, Confidence: 0.9}, Text: "Job 17 fills the links.", Action: "place it elsewhere"}}
	a.Take(diagnosed)
	const second = "1882497176567809 high system"
	waitFor(t, "the new class alone", func() bool {
		now := alerts(t, address)
		return now[second] != nil && now[first] == nil
	})
	if text := alerts(t, address)[second].Annotations["description"]; text != "Job 17 fills the links." {
		t.Errorf("description %q", text)
	}
	unknown := result(3)
	unknown.Network.Unknown = &schema.Unknown{Reason: schema.NoInterval}
	a.Take(unknown) // unknown state: the alert keeps firing
	time.Sleep(2 * cfg.Resend)
	waitFor(t, "the alert that is sent although nothing is known", func() bool { return alerts(t, address)[second] != nil })
	a.Take(result(4))
	waitFor(t, "the end", func() bool { return len(alerts(t, address)) == 0 })
}

// The alert of a region that was born in the future, since a clock was ahead, is accepted, and so is its end.
func TestARegionFromTheFuture(t *testing.T) {
	address := startAlertmanager(t)
	cfg := alertmanager.DefaultConfig()
	cfg.Enabled, cfg.DryRun, cfg.Resend = true, false, time.Second
	cfg.URLs = []secret.URL{secret.NewURL("http://" + address)}
	a := start(t, cfg)
	a.Take(result(1, schema.Region{ID: 1, Severity: schema.High, BirthNanos: time.Now().Add(time.Hour).UnixNano()}))
	waitFor(t, "the alert", func() bool { return len(alerts(t, address)) == 1 })
	a.Take(result(2))
	waitFor(t, "its end", func() bool { return len(alerts(t, address)) == 0 })
}

// What is sent decodes into Alertmanager's own type without unknown fields.
func TestAlertsFitTheModel(t *testing.T) {
	bodies := make(chan []byte, 8)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		bodies <- body
	}))
	defer receiver.Close()
	cfg := alertmanager.DefaultConfig()
	cfg.Enabled, cfg.DryRun, cfg.PageURL = true, false, "http://giverny.example/"
	cfg.URLs = []secret.URL{secret.NewURL(receiver.URL)}
	a := start(t, cfg)
	a.Take(result(1, schema.Region{ID: 1, Severity: schema.High}))
	text := <-bodies
	var posted models.PostableAlerts
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&posted); err != nil || len(posted) != 1 {
		t.Fatalf("%d alerts of %s: %v", len(posted), text, err)
	}
	if err := posted.Validate(strfmt.Default); err != nil {
		t.Errorf("%s: %v", text, err)
	}
}
