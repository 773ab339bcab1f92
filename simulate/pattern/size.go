package pattern

import (
	"fmt"
	"strconv"
	"strings"
)

// parseSize reads a number of bytes: 4096, 64KiB, 1MiB, 2GiB.
func parseSize(text string) (int64, error) {
	digits, unit := strings.TrimSpace(text), int64(1)
	for _, u := range []struct {
		suffix string
		bytes  int64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"B", 1}} {
		if rest, ok := strings.CutSuffix(digits, u.suffix); ok {
			digits, unit = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > (1<<62)/unit {
		return 0, fmt.Errorf("size %q: want bytes, such as 4096, 64KiB or 1MiB", text)
	}
	return n * unit, nil
}
