// Package incluster is where a pod finds the API server of the Kubernetes cluster that it runs in.
package incluster

import (
	"errors"
	"net"
	"os"
)

const account = "/var/run/secrets/kubernetes.io/serviceaccount/"

// Files of the service account that Kubernetes mounts into a pod.
const (
	TokenFile = account + "token" // Kubernetes renews it, so it is read for each request
	CAFile    = account + "ca.crt"
)

// URL is the address of the API server.
func URL() (string, error) {
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return "", errors.New("empty, and this process is no pod of a cluster; want the address of the API server")
	}
	return "https://" + net.JoinHostPort(host, port), nil
}
