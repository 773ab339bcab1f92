package envelope

import (
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"
)

// Keys of the schema metadata besides those of schema.Meta*.
const (
	metaGraphVersion  = "giverny.graph_version"
	metaIntervalStart = "giverny.interval_start_ns"
	// Of regions: why the network's state is unknown, and since when; absent if it
	// is known.
	metaUnknown      = "giverny.unknown"
	metaUnknownSince = "giverny.unknown_since_ns"
	metaRevision     = "giverny.revision"
)

// metaWriter builds metadata.
type metaWriter struct{ keys, values []string }

func (w *metaWriter) text(key, value string) {
	w.keys, w.values = append(w.keys, key), append(w.values, value)
}
func (w *metaWriter) signed(key string, n int64)    { w.text(key, strconv.FormatInt(n, 10)) }
func (w *metaWriter) unsigned(key string, n uint64) { w.text(key, strconv.FormatUint(n, 10)) }
func (w *metaWriter) metadata() arrow.Metadata      { return arrow.NewMetadata(w.keys, w.values) }

// metaReader reads metadata and keeps the first error.
type metaReader struct {
	meta arrow.Metadata
	err  error
}

func (r *metaReader) has(key string) bool {
	_, ok := r.meta.GetValue(key)
	return ok
}

func (r *metaReader) text(key string) string {
	value, ok := r.meta.GetValue(key)
	if !ok && r.err == nil {
		r.err = refuse(BadSchema, "metadata without %s", key)
	}
	return value
}

func (r *metaReader) name(key string) string {
	s := r.text(key)
	if err := checkName(key, s); err != nil && r.err == nil {
		r.err = refuse(BadSchema, "%v", err)
	}
	return s
}

func (r *metaReader) signed(key string) int64 {
	n, err := strconv.ParseInt(r.text(key), 10, 64)
	r.keep(key, err)
	return n
}

func (r *metaReader) unsigned(key string) uint64 {
	n, err := strconv.ParseUint(r.text(key), 10, 64)
	r.keep(key, err)
	return n
}

func (r *metaReader) keep(key string, err error) {
	if err != nil && r.err == nil {
		r.err = refuse(BadSchema, "metadata %s: %v", key, err)
	}
}
