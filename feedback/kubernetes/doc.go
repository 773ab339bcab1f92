// Package kubernetes asks Kubernetes to place pods elsewhere: as a scheduler extender,
// and by a node label or taint set through the API server. Input: node scores. Output:
// extender responses and API requests. Package reconcile decides which nodes are marked
// and restores them.
package kubernetes
