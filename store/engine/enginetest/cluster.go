package enginetest

import (
	"io"
	"net/http"
	"regexp"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// Cluster is the name of the cluster of an engine with TestKeeper, which is its only host.
const Cluster = "giverny"

var (
	onCluster  = regexp.MustCompile(" ON CLUSTER `[^`]*`")
	replicated = regexp.MustCompile(`ReplicatedMergeTree\('[^']*', '[^']*'\)`)
)

// Unreplicated removes the parts of a statement that a single engine cannot
// execute: it rejects ON CLUSTER, and keeps replicated tables read-only, since
// it serves no other replica.
func Unreplicated(statement string) string {
	return replicated.ReplaceAllString(onCluster.ReplaceAllString(statement, ""), "MergeTree")
}

// ClusterOptions returns options for an engine with TestKeeper that apply
// Unreplicated to each statement.
func ClusterOptions(opts *clickhouse.Options) *clickhouse.Options {

	own := *opts
	own.TransportFunc = func(t *http.Transport) (http.RoundTripper, error) { return unreplicating{t}, nil }
	return &own
}

type unreplicating struct{ next http.RoundTripper }

func (u unreplicating) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil || r.URL.Query().Has("query") { // the body is data
		return u.next.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	statement := Unreplicated(string(body))
	own := r.Clone(r.Context())
	own.Body, own.ContentLength = io.NopCloser(strings.NewReader(statement)), int64(len(statement))
	return u.next.RoundTrip(own)
}
