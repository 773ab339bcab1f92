package chaos

import "hash/fnv"

const (
	second = int64(1e9)
	// unit is 0.01% of a second, the precision of stored values.
	unit = second / 10_000
)

// Truth defines the counters, of time in nanoseconds: in each second a port's counter grows by a share that
// identifies the port and the second. So a stored value shows whether it is right: another interval, another
// port, or the difference of two other readings gives another value. Within a second the growth is linear.
type Truth struct {
	// BasePercent is the mean share of a port, in percent, which defines the congestion.
	BasePercent func(device, port string) int
}

// noiseUnits bounds the deviation of a second's share from the mean, to either side: in hundredths of a
// percent per percent of the mean, so 40% of it.
const noiseUnits = 40

// Counter is the value of a port's counter at a time from 1970 on.
func (t Truth) Counter(device, port string, nanos int64) uint64 {
	key := hash(device, port)
	base := int64(t.BasePercent(device, port))
	k, rest := nanos/second, nanos%second
	from, to := noise(key, k, base), noise(key, k+1, base)
	inSecond := base*100*unit + to - from
	return uint64(k*base*100*unit + from + rest/(second/10)*(inSecond/10) + rest%(second/10)*(inSecond/10)/(second/10))
}

// noise is a whole number of units, so that a tenth of a second gives a whole number, too.
func noise(key uint64, k, base int64) int64 {
	if base == 0 {
		return 0
	}
	x := (key ^ uint64(k)*0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9
	x ^= x >> 31
	return int64(x%uint64(base*noiseUnits)) * unit
}

func hash(device, port string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(device))
	h.Write([]byte{0})
	h.Write([]byte(port))
	return h.Sum64()
}
