package kafka

import (
	"time"

	"github.com/giverny/giverny/internal/boot"
)

// handover is when a record was handed to a producer, by two clocks: the host's wall clock, which timed its
// readings and may be set at any time, and a monotonic clock that starts with the host. From both follows the
// send time by the clock that timed the readings, even if that clock was set meanwhile.
type handover struct {
	WallNanos int64  // since 1970
	RunNanos  int64  // since the host started, including suspended time
	Boot      uint64 // identifies the boot; 0 if unknown
}

// clocks are the two clocks of a host.
type clocks struct {
	now  func() time.Time
	run  func() int64
	boot uint64
}

func hostClocks() clocks {
	return clocks{now: time.Now, run: func() int64 { return boot.Clock().Nanoseconds() }, boot: boot.ID(boot.IDPath)}
}

// take returns a handover at the present time.
func (c *clocks) take() handover { return handover{c.now().UnixNano(), c.run(), c.boot} }

// sent returns the present time by the wall clock as it was at a handover; by the wall clock as it is now if
// the host has rebooted since, or the handover is unknown.
func (c *clocks) sent(h handover) time.Time {
	if h.Boot == 0 || h.Boot != c.boot {
		return c.now()
	}
	return time.Unix(0, h.WallNanos+c.run()-h.RunNanos)
}
