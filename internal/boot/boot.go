// Package boot knows this host's present boot: what names it, and how long ago it
// began. The wall clock, which may be set at any time, plays no part.
package boot

import (
	"hash/fnv"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// IDPath is where Linux names the present boot.
const IDPath = "/proc/sys/kernel/random/boot_id"

// ID is a hash of the file that names the present boot; 0 if it cannot be read.
func ID(path string) uint64 {
	id, err := os.ReadFile(path)
	text := strings.TrimSpace(string(id))
	if err != nil || text == "" {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(text))
	return h.Sum64()
}

// Clock is the time since the host started, the time that it was suspended
// included. It is never set.
func Clock() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return time.Since(started)
	}
	return time.Duration(now.Nano())
}

// started is for kernels without the clock; it stands while the host is suspended.
var started = time.Now()
