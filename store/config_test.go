package store

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/giverny/giverny/internal/secret"
)

func TestConfigNamesEveryFault(t *testing.T) {
	cfg := DefaultConfig()
	if err := cfg.Validate(); err != nil {
		t.Errorf("the default: %v", err)
	}
	err := (&Config{Retention: Retention{Samples: -1, Raw: time.Millisecond}, RetryMin: 2, RetryMax: 1}).Validate()
	for _, want := range []string{"keep_samples: ", "keep_raw: ", "insert_timeout: ", "retry_max: "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want a fault of %s in %v", want, err)
		}
	}
}

func TestServerOptions(t *testing.T) {
	opts, err := (&ServerConfig{URL: secret.NewURL("clickhouse://u:p@a:9440,b:9440/metrics?secure=true"), Password: secret.NewText("q")}).Options(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if len(opts.Addr) != 2 || opts.Auth.Database != "metrics" || opts.Auth.Username != "u" || opts.Auth.Password != "q" || opts.TLS == nil || opts.Compression == nil {
		t.Errorf("%+v", opts)
	}
	opts, err = (&ServerConfig{URL: secret.NewURL("https://u@a:8443,b:8443,c:8443/giverny")}).Options(slog.New(slog.DiscardHandler))
	if err != nil || opts.Protocol != clickhouse.HTTP || opts.TLS == nil || len(opts.Addr) != 3 {
		t.Errorf("over HTTPS: %+v, %v", opts, err)
	}
	for want, c := range map[string]ServerConfig{
		"url: ":       {URL: secret.NewURL("clickhouse://")},
		"ca: ":        {URL: secret.NewURL("clickhouse://a:9000"), CAFile: "testdata/none.pem"},
		"in PEM form": {URL: secret.NewURL("clickhouse://a:9000"), CAFile: "config_test.go"},
		"key: empty":  {URL: secret.NewURL("clickhouse://a:9000"), CertFile: "testdata/none.pem"},
	} {
		if _, err := c.Options(slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
}

func TestErrorsOfTheAddressHideItsPassword(t *testing.T) {
	_, err := (&ServerConfig{URL: secret.NewURL("click house://monet:wisteria@a:9000/%zz")}).Options(slog.New(slog.DiscardHandler))
	if err == nil || strings.Contains(err.Error(), "wisteria") {
		t.Error(err)
	}
}

func TestCountersStartAtZero(t *testing.T) {
	db := openDB(t, testOptionsNowhere(), DefaultConfig())
	families, err := db.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := map[string]int{}
	for _, f := range families {
		series[f.GetName()] = len(f.GetMetric())
	}
	for name, want := range map[string]int{"giverny_store_intervals_total": 2, "giverny_store_rows_total": len(tables) + len(facts) + 3, // the marker, saved states, roll-ups
		"giverny_store_retries_total": len(retryReasons), "giverny_store_rows_dropped_total": 1, "giverny_store_values_dropped_total": 2, "giverny_store_ready": 1} {
		if series[name] != want {
			t.Errorf("%s has %d series, want %d", name, series[name], want)
		}
	}
}
