package spool

// OpenSmall is Open without a lower bound of the spool's size.
var OpenSmall = open

// SegmentFile is what a disk can fail.
type SegmentFile = segmentFile

// FailDisk puts a disk of the test's making under a spool.
func (s *Spool) FailDisk(wrap func(SegmentFile, error) (SegmentFile, error)) {
	s.create = func(path string) (segmentFile, error) { return wrap(createSegment(path)) }
}
