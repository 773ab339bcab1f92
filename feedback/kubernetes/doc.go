// Package kubernetes asks Kubernetes to place pods elsewhere: as a scheduler extender
// that answers the scheduler's questions, and by a label or a taint of nodes through
// the API server. In go scores of nodes, out come answers and requests. Which nodes
// are labelled, and that all is put back, is package reconcile's.
package kubernetes
