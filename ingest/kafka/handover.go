package kafka

import (
	"time"

	"github.com/giverny/giverny/internal/boot"
)

// handover is when a record was handed to a producer, by two clocks: the host's, by which its readings were taken
// and which may be set at any time, and one that runs evenly since the host started. With both the record says
// when it is sent by the clock that its readings were taken with, though that clock was set meanwhile.
type handover struct {
	WallNanos int64  // since 1970
	RunNanos  int64  // since the host started, suspended or not
	Boot      uint64 // names the start; 0 if it is not known
}

// clocks are the two of a host.
type clocks struct {
	now  func() time.Time
	run  func() int64
	boot uint64
}

func hostClocks() clocks {
	return clocks{now: time.Now, run: func() int64 { return boot.Clock().Nanoseconds() }, boot: boot.ID(boot.IDPath)}
}

// take is a handover now.
func (c *clocks) take() handover { return handover{c.now().UnixNano(), c.run(), c.boot} }

// sent is the present time by the clock as it was at a handover; by the clock as it is now where the host has
// been started since, or the handover is not known.
func (c *clocks) sent(h handover) time.Time {
	if h.Boot == 0 || h.Boot != c.boot {
		return c.now()
	}
	return time.Unix(0, h.WallNanos+c.run()-h.RunNanos)
}
