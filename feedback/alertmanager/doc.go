// Package alertmanager shows congestion regions as alerts of Prometheus'
// Alertmanager, by its own API (POST /api/v2/alerts). In go the results of fabrics,
// out come alerts that are sent again and again while a region is there, and once it
// has gone are sent as resolved. It keeps nothing on disk: what is not sent again
// resolves itself.
package alertmanager
