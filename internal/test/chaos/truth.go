package chaos

import "hash/fnv"

const (
	second = int64(1e9)
	// unit is a hundredth of a percent of a second, as fine as what is stored.
	unit = second / 10_000
)

// Truth is what counters of time, in nanoseconds, show: a port's counter rises in each second by a share of it
// that says which port and which second it is. So a value that is stored for an interval tells whether it is
// the right one: another interval, another port, or a difference of two other readings has another. In between
// it rises evenly.
type Truth struct {
	// BasePercent is the mean share of a port, percent, which others than the hash decide: what is congested.
	BasePercent func(device, port string) int
}

// noiseUnits bound by how much the share of a second is off the mean, to either side: hundredths of a percent
// per percent of the mean, so 40% of it.
const noiseUnits = 40

// Counter is what the counter of a port shows at a time. It is for times from 1970 on.
func (t Truth) Counter(device, port string, nanos int64) uint64 {
	key := hash(device, port)
	base := int64(t.BasePercent(device, port))
	k, rest := nanos/second, nanos%second
	from, to := noise(key, k, base), noise(key, k+1, base)
	inSecond := base*100*unit + to - from
	return uint64(k*base*100*unit + from + rest/(second/10)*(inSecond/10) + rest%(second/10)*(inSecond/10)/(second/10))
}

// noise is a whole number of units, so that what falls to a tenth of a second is a whole number too.
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
