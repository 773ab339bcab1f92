// Package alertmanager publishes congestion regions as alerts through the API of
// Prometheus Alertmanager (POST /api/v2/alerts). Input: the results of fabrics. Output:
// alerts, re-sent for as long as a region exists and then sent as resolved. It persists
// nothing: an alert that is no longer re-sent resolves by itself.
package alertmanager
