package spool

// OpenSmall is Open without the minimum size of the spool.
var OpenSmall = open

// SegmentFile is the interface of a failing disk.
type SegmentFile = segmentFile

// FailDisk puts a fake disk under a spool.
func (s *Spool) FailDisk(wrap func(SegmentFile, error) (SegmentFile, error)) {
	s.create = func(path string) (segmentFile, error) { return wrap(createSegment(path)) }
}
