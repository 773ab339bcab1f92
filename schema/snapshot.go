package schema

// Series is one metric of every link of a fabric in one interval.
type Series struct {
	Metric Metric
	Values []float32 // by LinkID, in Metric.Unit(); undefined where not Valid
	Valid  Bitmap    // by LinkID: the value was measured
	Count  int       // number of valid links
}

// Snapshot is everything measured of a fabric in one interval. It is immutable
// once it has been passed on.
type Snapshot struct {
	Fabric       string
	GraphVersion uint64
	Interval     Interval
	Links        int // the graph's number of links, the length of every series
	Series       []Series
	// FirstReadNanos and LastReadNanos are the earliest and latest instants of
	// the readings in the snapshot; 0 if there were none.
	FirstReadNanos, LastReadNanos int64
	// Ports says for which ports there were readings; empty if unknown, as in a
	// snapshot from the store.
	Ports LinkPresence
	// Samples is the number of counter readings in the snapshot.
	Samples int
}

// Find returns the series of a metric, or nil.
func (s *Snapshot) Find(m Metric) *Series {
	for i := range s.Series {
		if s.Series[i].Metric == m {
			return &s.Series[i]
		}
	}
	return nil
}

// Coverage returns the share of links, 0 to 1, with a value of the metric.
func (s *Snapshot) Coverage(m Metric) float64 {
	if r := s.Find(m); r != nil && s.Links > 0 {
		return float64(r.Count) / float64(s.Links)
	}
	return 0
}
