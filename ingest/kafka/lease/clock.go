package lease

import (
	"time"

	"golang.org/x/sys/unix"
)

// Clock is the time since the machine started, the time that it was suspended included. It is never set, so a
// lease neither ends nor lives longer when the wall clock jumps.
func Clock() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return time.Since(started)
	}
	return time.Duration(now.Nano())
}

// started is for kernels without the clock; it stands while the machine is suspended.
var started = time.Now()
