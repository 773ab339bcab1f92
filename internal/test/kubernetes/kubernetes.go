// Package kubernetes starts a cluster's control plane for a test: the real etcd, kube-apiserver (with TLS, RBAC and service
// accounts) and kube-scheduler, on loopback and in one folder. Input: the names of the nodes, which are objects that no
// kubelet stands behind, and the scheduler's configuration. Output: methods to apply manifests, to make tokens and to place
// pods. A pod is placed when the scheduler binds it; nothing runs it. The programs come from `make deps-test`.
package kubernetes

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/giverny/giverny/internal/test/freeport"
	"github.com/giverny/giverny/internal/test/proc"
	"github.com/giverny/giverny/internal/test/repo"
)

const (
	waitTimeout  = 90 * time.Second // the API server is ready after 7 s, longer under load
	pollInterval = 50 * time.Millisecond
	logTailLines = 20
)

// Tokens of the two users that Kubernetes' own roles know.
const (
	adminToken     = "admin"
	schedulerToken = "scheduler"
)

// Cluster is a running control plane.
type Cluster struct {
	tb      testing.TB
	dir     string
	url     string
	client  *http.Client
	parts   map[string]*proc.Process
	started int // pods
}

// Start returns once the API server is ready and has the nodes. No scheduler runs yet.
func Start(tb testing.TB, nodes ...string) *Cluster {
	tb.Helper()
	c := &Cluster{tb: tb, dir: tb.TempDir(), url: "https://" + freeport.Addr(tb), parts: map[string]*proc.Process{}}
	tb.Cleanup(func() {
		for name := range c.parts {
			c.kill(name)
		}
	})
	c.startEtcd()
	for _, name := range nodes {
		c.createNode(name)
	}
	return c
}

func (c *Cluster) startEtcd() {
	c.tb.Helper()
	if err := c.writeSecrets(); err != nil {
		c.tb.Fatal(err)
	}
	etcd, peers := "http://"+freeport.Addr(c.tb), "http://"+freeport.Addr(c.tb)
	c.run("etcd", "--data-dir="+c.path("etcd"), "--unsafe-no-fsync", "--listen-client-urls="+etcd, "--advertise-client-urls="+etcd,
		"--listen-peer-urls="+peers, "--initial-advertise-peer-urls="+peers, "--initial-cluster=default="+peers)
	_, port := splitAddress(c.url)
	// No controllers run that make the default service accounts and lift the taints of new nodes, which the two plugins want.
	c.run("kube-apiserver", "--etcd-servers="+etcd, "--bind-address=127.0.0.1", "--secure-port="+port, "--cert-dir="+c.path("certificates"),
		"--authorization-mode=RBAC", "--token-auth-file="+c.path("tokens.csv"), "--service-cluster-ip-range=10.96.0.0/24", "--endpoint-reconciler-type=none",
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-signing-key-file="+c.path("accounts.key"), "--service-account-key-file="+c.path("accounts.key"),
		"--disable-admission-plugins=ServiceAccount,TaintNodesByCondition")
	c.Await("the API server to be ready", func() bool {
		var err error
		if c.client == nil {
			if c.client, err = c.trusting(); err != nil {
				return false
			}
		}
		return c.call(http.MethodGet, "/readyz", "", nil, nil) == nil
	})
}

// writeSecrets writes the tokens of the users and the key that signs those of service accounts.
func (c *Cluster) writeSecrets() error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	if err := os.WriteFile(c.path("accounts.key"), text, 0o600); err != nil {
		return err
	}
	tokens := adminToken + ",admin,admin,system:masters\n" + schedulerToken + ",system:kube-scheduler,scheduler\n"
	return os.WriteFile(c.path("tokens.csv"), []byte(tokens), 0o600)
}

// StartScheduler starts kube-scheduler with a KubeSchedulerConfiguration, to which it adds how to reach the API server. A
// scheduler that runs is killed.
func (c *Cluster) StartScheduler(configuration string) {
	c.tb.Helper()
	c.kill("kube-scheduler")
	kubeconfig := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q, certificate-authority: %q}}]
users: [{name: u, user: {token: %s}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`, c.url, c.CA(), schedulerToken)
	configuration += fmt.Sprintf("\nclientConnection: {kubeconfig: %q}\nleaderElection: {leaderElect: false}\n", c.path("kubeconfig"))
	for name, text := range map[string]string{"kubeconfig": kubeconfig, "scheduler.yaml": configuration} {
		if err := os.WriteFile(c.path(name), []byte(text), 0o600); err != nil {
			c.tb.Fatal(err)
		}
	}
	c.run("kube-scheduler", "--config="+c.path("scheduler.yaml"), "--bind-address=127.0.0.1", "--secure-port="+fmt.Sprint(freeport.Port(c.tb)))
}

// run starts a program of the control plane.
func (c *Cluster) run(name string, flags ...string) {
	c.tb.Helper()
	binary := filepath.Join(repo.Dir(c.tb), ".deps", "kubernetes", "components")
	if _, err := os.Stat(binary); err != nil {
		c.tb.Fatalf("%v: run make deps-test", err)
	}
	p, err := proc.Start(exec.Command(binary, append([]string{name}, flags...)...), c.path(name+".log"))
	if err != nil {
		c.tb.Fatal(err)
	}
	c.parts[name] = p
}

func (c *Cluster) kill(name string) {
	if p := c.parts[name]; p != nil {
		p.Kill()
		delete(c.parts, name)
	}
}

// URL is the address of the API server.
func (c *Cluster) URL() string { return c.url }

// CA is the file of the certificate authority of the API server.
func (c *Cluster) CA() string { return c.path("certificates", "apiserver.crt") }

func (c *Cluster) path(elem ...string) string {
	return filepath.Join(append([]string{c.dir}, elem...)...)
}

// Await polls until done, or fails the test with the ends of the logs.
func (c *Cluster) Await(what string, done func() bool) {
	c.tb.Helper()
	for deadline := time.Now().Add(waitTimeout); !done(); time.Sleep(pollInterval) {
		for name, p := range c.parts {
			select {
			case <-p.Done():
				c.tb.Fatalf("waiting for %s: %s ended: %v\n%s", what, name, p.Err(), p.LogTail(logTailLines))
			default:
			}
		}
		if time.Now().After(deadline) {
			for name, p := range c.parts {
				c.tb.Logf("%s:\n%s", name, p.LogTail(logTailLines))
			}
			c.tb.Fatalf("waited for %s", what)
		}
	}
}
