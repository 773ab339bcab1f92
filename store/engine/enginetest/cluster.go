package enginetest

import (
	"io"
	"net/http"
	"regexp"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// Cluster is the cluster of an engine with TestKeeper, all of which that engine is.
const Cluster = "giverny"

var (
	onCluster  = regexp.MustCompile(" ON CLUSTER `[^`]*`")
	replicated = regexp.MustCompile(`ReplicatedMergeTree\('[^']*', '[^']*'\)`)
)

// Unreplicated is a statement without what the engine cannot carry out alone: it
// refuses ON CLUSTER, and keeps replicated tables read-only, since it serves no
// other replica.
func Unreplicated(statement string) string {
	return replicated.ReplaceAllString(onCluster.ReplaceAllString(statement, ""), "MergeTree")
}

// ClusterOptions are options for an engine with TestKeeper that send it each
// statement Unreplicated.
func ClusterOptions(opts *clickhouse.Options) *clickhouse.Options {

	own := *opts
	own.TransportFunc = func(t *http.Transport) (http.RoundTripper, error) { return unreplicating{t}, nil }
	return &own
}

type unreplicating struct{ next http.RoundTripper }

func (u unreplicating) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil || r.URL.Query().Has("query") { // what follows is data
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
