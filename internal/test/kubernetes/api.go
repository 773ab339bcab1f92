package kubernetes

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/giverny/giverny/internal/test/repo"
)

// trusting returns a client that trusts the API server's certificate.
func (c *Cluster) trusting() (*http.Client, error) {
	text, err := os.ReadFile(c.CA())
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate", c.CA())
	}
	return &http.Client{Timeout: waitTimeout, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}, nil
}

func splitAddress(address string) (host, port string) {
	u, _ := url.Parse(address)
	host, port, _ = net.SplitHostPort(u.Host)
	return host, port
}

// call makes a request as the administrator.
func (c *Cluster) call(method, path, mediaType string, body []byte, into any) error {
	request, err := http.NewRequestWithContext(c.tb.Context(), method, c.url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+adminToken)
	request.Header.Set("Content-Type", mediaType)
	response, err := c.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s %s", method, path, response.Status, text)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}

// do is call; a failure fails the test.
func (c *Cluster) do(method, path, mediaType string, body, into any) {
	c.tb.Helper()
	var text []byte
	var err error
	if body != nil {
		text, err = json.Marshal(body)
	}
	if err == nil {
		err = c.call(method, path, mediaType, text, into)
	}
	if err != nil {
		c.tb.Fatal(err)
	}
}

// resources are the paths of the kinds that Apply knows.
var resources = map[string]string{
	"Namespace": "/api/v1/namespaces", "ServiceAccount": "/api/v1/namespaces/%s/serviceaccounts",
	"ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles", "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
	"ReplicaSet": "/apis/apps/v1/namespaces/%s/replicasets", "DaemonSet": "/apis/apps/v1/namespaces/%s/daemonsets",
	"Deployment": "/apis/apps/v1/namespaces/%s/deployments", "StatefulSet": "/apis/apps/v1/namespaces/%s/statefulsets",
	"ConfigMap": "/api/v1/namespaces/%s/configmaps", "Service": "/api/v1/namespaces/%s/services",
	"NetworkPolicy": "/apis/networking.k8s.io/v1/namespaces/%s/networkpolicies",
}

// custom is a kind of the chart whose definition the Prometheus operator brings, not Kubernetes.
const custom = "PodMonitor"

// ApplyChart applies what the Helm chart renders with everything enabled, in the namespace giverny.
func (c *Cluster) ApplyChart() {
	c.tb.Helper()
	text, err := os.ReadFile(filepath.Join(repo.Dir(c.tb), "deploy", "helm", "testdata", "full.yaml"))
	if err != nil {
		c.tb.Fatal(err)
	}
	c.Apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: giverny}\n---\n" + string(text))
}

// Apply applies the objects of a manifest, like kubectl apply --server-side; unknown and duplicate fields are errors.
func (c *Cluster) Apply(manifest string) {
	c.tb.Helper()
	decoder := yaml.NewDecoder(strings.NewReader(manifest))
	for {
		var object struct {
			Kind     string         `yaml:"kind"`
			Metadata map[string]any `yaml:"metadata"`
			Rest     map[string]any `yaml:",inline"`
		}
		err := decoder.Decode(&object)
		if err == io.EOF {
			return
		}
		if err == nil && (object.Kind == "" && len(object.Rest) == 0 || object.Kind == custom) {
			continue
		}
		path, known := resources[object.Kind]
		if err != nil || !known {
			c.tb.Fatalf("manifest with kind %q: %v", object.Kind, err)
		}
		if strings.Contains(path, "%s") {
			path = fmt.Sprintf(path, object.Metadata["namespace"])
		}
		object.Rest["kind"], object.Rest["metadata"] = object.Kind, object.Metadata
		c.do(http.MethodPatch, fmt.Sprintf("%s/%s?fieldManager=test&fieldValidation=Strict", path, object.Metadata["name"]), "application/apply-patch+yaml", object.Rest, nil)
	}
}

// TokenFile returns a file with a token of a service account.
func (c *Cluster) TokenFile(namespace, account string) string {
	c.tb.Helper()
	var answer struct{ Status struct{ Token string } }
	c.do(http.MethodPost, "/api/v1/namespaces/"+namespace+"/serviceaccounts/"+account+"/token", "application/json",
		map[string]any{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": map[string]any{}}, &answer)
	file := c.path(namespace + "-" + account + ".token")
	if err := os.WriteFile(file, []byte(answer.Status.Token), 0o600); err != nil {
		c.tb.Fatal(err)
	}
	return file
}

// Taint of a node.
type Taint struct{ Key, Value, Effect string }

// Node is what tests read of a node.
type Node struct {
	Metadata struct {
		Labels        map[string]string
		ManagedFields []struct{ Manager, Operation string }
	}
	Spec struct{ Taints []Taint }
}

// capacity of each node: large against pods of 4 CPUs, so that fullness says little about where the next goes.
var capacity = map[string]string{"cpu": "1000", "memory": "1000Gi", "pods": "1000"}

func (c *Cluster) createNode(name string) {
	c.tb.Helper()
	c.do(http.MethodPost, "/api/v1/nodes", "application/json", map[string]any{"apiVersion": "v1", "kind": "Node",
		"metadata": map[string]any{"name": name, "labels": map[string]string{"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}},
		"status": map[string]any{"capacity": capacity, "allocatable": capacity,
			"conditions": []any{map[string]string{"type": "Ready", "status": "True"}}}}, nil)
}

// Node returns a node.
func (c *Cluster) Node(name string) (n Node) {
	c.tb.Helper()
	c.do(http.MethodGet, "/api/v1/nodes/"+name, "", nil, &n)
	return n
}

// PatchNode changes a node by a JSON merge patch, as another client.
func (c *Cluster) PatchNode(name string, patch any) {
	c.tb.Helper()
	c.do(http.MethodPatch, "/api/v1/nodes/"+name+"?fieldManager=test", "application/merge-patch+json", patch, nil)
}

// DeleteNode removes a node.
func (c *Cluster) DeleteNode(name string) {
	c.tb.Helper()
	c.do(http.MethodDelete, "/api/v1/nodes/"+name, "application/json", nil, nil)
}

// KeepPatching changes an annotation of the nodes without a pause until ctx ends, as kubelets and controllers do now and then.
func (c *Cluster) KeepPatching(ctx context.Context, names ...string) error {
	for i := 0; ctx.Err() == nil; i++ {
		patch := fmt.Sprintf(`{"metadata": {"annotations": {"example.com/count": "%d"}}}`, i)
		if err := c.call(http.MethodPatch, "/api/v1/nodes/"+names[i%len(names)], "application/merge-patch+json", []byte(patch), nil); err != nil {
			return err
		}
	}
	return nil
}

// Place is Create and Placed.
func (c *Cluster) Place(metadata, spec map[string]any) (node string) {
	c.tb.Helper()
	return c.Placed(c.Create(metadata, spec))
}

// ReplicaSet creates a ReplicaSet, and returns the metadata with which pods belong to it; no controller creates them.
func (c *Cluster) ReplicaSet(name string) (metadata map[string]any) {
	c.tb.Helper()
	c.Apply(fmt.Sprintf(`apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: %[1]s, namespace: default}
spec:
  replicas: 0
  selector: {matchLabels: {app: %[1]s}}
  template: {metadata: {labels: {app: %[1]s}}, spec: {containers: [{name: main, image: none}]}}
`, name))
	var object struct{ Metadata struct{ UID string } }
	c.do(http.MethodGet, "/apis/apps/v1/namespaces/default/replicasets/"+name, "", nil, &object)
	owner := map[string]any{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": object.Metadata.UID, "controller": true}
	return map[string]any{"labels": map[string]string{"app": name}, "ownerReferences": []any{owner}}
}

// Create creates a pod with further fields of its metadata and spec.
func (c *Cluster) Create(metadata, spec map[string]any) (name string) {
	c.tb.Helper()
	c.started++
	name = fmt.Sprintf("pod-%d", c.started)
	object := map[string]any{"name": name}
	maps.Copy(object, metadata)
	fields := map[string]any{"containers": []any{map[string]any{"name": "main", "image": "none",
		"resources": map[string]any{"requests": map[string]string{"cpu": "4", "memory": "4Gi"}}}}}
	maps.Copy(fields, spec)
	c.do(http.MethodPost, "/api/v1/namespaces/default/pods", "application/json",
		map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": object, "spec": fields}, nil)
	return name
}

// SetPhase sets the status of a pod, as its kubelet would: Running, Succeeded or Failed.
func (c *Cluster) SetPhase(name, phase string) {
	c.tb.Helper()
	now := time.Now().UTC().Format(time.RFC3339)
	status := map[string]any{"phase": phase, "startTime": now}
	if phase != "Running" {
		status["containerStatuses"] = []any{map[string]any{"name": "main", "image": "none", "imageID": "none", "ready": false, "restartCount": 0,
			"state": map[string]any{"terminated": map[string]any{"exitCode": 0, "finishedAt": now}}}}
	}
	c.do(http.MethodPatch, "/api/v1/namespaces/default/pods/"+name+"/status", "application/merge-patch+json", map[string]any{"status": status}, nil)
}

// Placed waits until a pod is bound, and returns its node.
func (c *Cluster) Placed(name string) (node string) {
	c.tb.Helper()
	c.Await("pod "+name+" to be placed", func() bool {
		node = c.pod(name).Spec.NodeName
		return node != ""
	})
	return node
}

// AwaitRefused waits until the scheduler has found no node for a pod, and returns its message.
func (c *Cluster) AwaitRefused(name string) (message string) {
	c.tb.Helper()
	c.Await("pod "+name+" to be refused", func() bool {
		for _, condition := range c.pod(name).Status.Conditions {
			if condition.Reason == "Unschedulable" {
				message = condition.Message
			}
		}
		return message != ""
	})
	return message
}

type pod struct {
	Spec   struct{ NodeName string }
	Status struct {
		Conditions []struct{ Reason, Message string }
	}
}

func (c *Cluster) pod(name string) (p pod) {
	c.tb.Helper()
	c.do(http.MethodGet, "/api/v1/namespaces/default/pods/"+name, "", nil, &p)
	return p
}

// DeletePods removes all pods.
func (c *Cluster) DeletePods() {
	c.tb.Helper()
	c.do(http.MethodDelete, "/api/v1/namespaces/default/pods?gracePeriodSeconds=0", "application/json", nil, nil)
}
