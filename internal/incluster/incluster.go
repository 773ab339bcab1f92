// Package incluster locates the API server of the Kubernetes cluster that this pod runs in.
package incluster

import (
	"errors"
	"net"
	"os"
)

const account = "/var/run/secrets/kubernetes.io/serviceaccount/"

// Files of the service account that Kubernetes mounts into a pod.
const (
	TokenFile = account + "token" // read for each request, because Kubernetes renews it
	CAFile    = account + "ca.crt"
)

// URL is the address of the API server.
func URL() (string, error) {
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return "", errors.New("empty, and this process does not run in a pod; want the address of the API server")
	}
	return "https://" + net.JoinHostPort(host, port), nil
}
