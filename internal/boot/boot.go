// Package boot identifies this host's current boot and the time since it. It does not
// use the wall clock, which may be set at any time.
package boot

import (
	"hash/fnv"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// IDPath is where Linux exposes the ID of the current boot.
const IDPath = "/proc/sys/kernel/random/boot_id"

// ID is a hash of the boot ID in a file; 0 if it cannot be read.
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

// Clock is the time since the host booted, including suspension. It is never set.
func Clock() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return time.Since(started)
	}
	return time.Duration(now.Nano())
}

// started is the fallback for kernels without the clock; it does not advance during suspension.
var started = time.Now()
