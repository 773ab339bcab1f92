//go:build integration

package feedback_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/giverny/giverny/internal/test/kubernetes"
	"github.com/giverny/giverny/schema"
)

// The nodes of these tests: hosts of a fat tree (k=4), the first two of them on leaf pod 0 edge 0.
var kubernetesNodes = []string{"host0", "host1", "host2", "host3"}

// documented returns the YAML block of the page about schedulers that contains a text.
func documented(t *testing.T, text string) string {
	t.Helper()
	page, err := os.ReadFile("../docs/how-to/feedback-to-schedulers.md")
	if err != nil {
		t.Fatal(err)
	}
	for block := range strings.SplitSeq(string(page), "```yaml\n") {
		block, _, _ = strings.Cut(block, "\n```")
		if strings.Contains(block, text) {
			return block
		}
	}
	t.Fatalf("the page has no YAML with %q", text)
	return ""
}

// extenderServer serves the hub's extender, late if so set.
type extenderServer struct {
	*httptest.Server
	delay atomic.Int64 // nanoseconds
}

func newExtenderServer(t *testing.T, h *hub) *extenderServer {
	t.Helper()
	s := &extenderServer{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(time.Duration(s.delay.Load()))
		h.mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// overHTTP starts the server, and returns the documented configuration of kube-scheduler for it.
func overHTTP(t *testing.T, s *extenderServer) string {
	t.Helper()
	s.Start()
	return strings.ReplaceAll(documented(t, "extenders:"), "http://giverny:9401", s.URL)
}

// overTLS is overHTTP with the documented tlsConfig, and a server that requires a certificate of its client.
func overTLS(t *testing.T, s *extenderServer) string {
	t.Helper()
	s.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	s.StartTLS()
	files := t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kube-scheduler"}, NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	client, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]pem.Block{"ca.pem": {Type: "CERTIFICATE", Bytes: s.Certificate().Raw}, "scheduler.pem": {Type: "CERTIFICATE", Bytes: client}, "scheduler-key.pem": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(files, name), pem.EncodeToMemory(&block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	secured := strings.ReplaceAll(documented(t, "enableHTTPS:"), "/etc/kubernetes/giverny", files)
	return strings.ReplaceAll(documented(t, "extenders:"), "http://giverny:9401", s.URL) + "\n" + secured
}

// placements places pods, one after the other, and returns the nodes that got any.
func placements(c *kubernetes.Cluster, pods int, metadata map[string]any) string {
	got := map[string]bool{}
	for range pods {
		got[c.Place(metadata, nil)] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(got)), " ")
}

// awaitAll places pods until every node has got one: the scheduler chooses at random among equals.
func awaitAll(t *testing.T, c *kubernetes.Cluster) {
	t.Helper()
	const pods = 100 // a node of four that is as good as the others gets none of them once in 10^12
	got := map[string]bool{}
	for i := 0; len(got) < len(kubernetesNodes); i++ {
		if i == pods {
			t.Fatalf("of %d pods none is placed on other nodes than %v", pods, got)
		}
		got[c.Place(nil, nil)] = true
	}
}

// The real kube-scheduler, with the extender as documented, places pods on calm nodes while others are congested, replicas
// too, which it would rather spread; after the relief it uses all nodes.
func TestKubernetesPlacesPodsElsewhere(t *testing.T) {
	t.Parallel()
	c := kubernetes.Start(t, kubernetesNodes...)
	h := startHub(t, extenderConfig(t))
	s, secured := newExtenderServer(t, h), newExtenderServer(t, h)
	replicas := c.ReplicaSet("web")
	plain := overHTTP(t, s)
	for form, configuration := range map[string]string{"names": plain, "nodes over TLS": strings.ReplaceAll(overTLS(t, secured), "nodeCacheCapable: true", "nodeCacheCapable: false")} {
		c.StartScheduler(configuration)
		h.relieve(t)
		awaitAll(t, c)
		for severity := schema.Medium; severity <= schema.High; severity++ {
			h.congest(t, severity, "host0", "host1", "host2")
			if got := placements(c, 8, nil); got != "host3" {
				t.Errorf("%s: with the others congested (%v) pods are placed on %s, want host3", form, severity, got)
			}
			if got := placements(c, 8, replicas); got != "host3" {
				t.Errorf("%s: with the others congested (%v) replicas are placed on %s, want host3", form, severity, got)
			}
		}
		if got := c.Place(nil, map[string]any{"nodeSelector": map[string]string{"kubernetes.io/hostname": "host1"}}); got != "host1" {
			t.Errorf("%s: a pod that can only be on host1 is placed on %s", form, got)
		}
		c.DeletePods()
	}
	h.relieve(t)
	awaitAll(t, c)

	c.StartScheduler(plain)
	h.congest(t, schema.High, "host0", "host1", "host2")
	s.delay.Store(int64(3 * time.Second))
	began := time.Now()
	placements(c, 2, nil)
	if took := time.Since(began); took < 4*time.Second || took > 30*time.Second { // each of two pods waits for two answers, 1 s each
		t.Errorf("while the extender is slow, two pods take %v", took)
	}
	s.Close()
	awaitAll(t, c)
}
