// Package bluewaters reads the day files of the Blue Waters network dataset (DOI
// 10.13012/B2IDB-2921318_V1): stall and bandwidth of every link direction of a Gemini
// torus, once a minute, as analysed by Monet. Unparsable rows are counted and reported;
// the others become counter batches, one per minute, in time order. Replay emits them
// at any speed. The writer of such files is simulate/telemetry.
package bluewaters

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/giverny/giverny/schema"
)

// direction is one of the six link directions of a Gemini, in the order of the
// files' columns.
type direction int

var directionNames = [...]string{"Z-", "Z+", "Y-", "Y+", "X-", "X+"}

const numDirections = direction(len(directionNames))

// String is the port name, as used by topology.NewGrid.
func (d direction) String() string { return directionNames[d] }

// maxValue is 100 percent.
const maxValue = 100_000_000

// The columns of a day file: the time, six credit stalls, six inq stalls, six
// shares of bandwidth used, and the coordinates Z, Y, X.
const (
	columnTime   = 0
	columnValues = 1
	numValues    = 3 * int(numDirections)
	columnZ      = columnValues + numValues
	columnY      = columnZ + 1
	columnX      = columnY + 1
	numColumns   = columnX + 1
)

var valueNames = [...]string{"CREDIT_STALL", "INQ_STALL", "USED_BW"}

// columnName is the column's name in the release's HEADER file, which comes from LDMS's
// gpcdr sampler.
func columnName(c int) string {
	switch {
	case c == columnTime:
		return "#Time"
	case c >= columnZ:
		return "nettopo_mesh_coord_" + "ZYX"[c-columnZ:c-columnZ+1]
	}
	v := c - columnValues
	return directionNames[v%int(numDirections)] + "_SAMPLE_GEMINI_LINK_" + valueNames[v/int(numDirections)] + " (% x1e6)"
}

// Names of the columns of the batches.
const (
	creditStall   = "gemini.credit_stall"
	inqStall      = "gemini.inq_stall"
	usedBandwidth = "gemini.used_bw"
)

const (
	secondsPerMinute = 60
	nanosPerSecond   = 1_000_000_000
	// intervalNanos is the interval of the readings.
	intervalNanos = secondsPerMinute * nanosPerSecond
)

// minuteOf returns the number, counted from 1970, of the minute boundary that a reading
// belongs to; the reading describes the minute before it. Samplers fire slightly before
// or after the boundary, so it is the nearest one. The release's own programs use this
// rule: bucket ceil((t - day start + 30)/60), where the first bucket is the one around
// the start of the day.
func minuteOf(unixSeconds int64, nanos int64) int64 {
	t := unixSeconds - secondsPerMinute/2
	m := t / secondsPerMinute
	if rest := t % secondsPerMinute; rest > 0 || rest == 0 && nanos > 0 {
		m++
	}
	return m
}

// Config says which torus the rows describe and how much they may be out of order.
type Config struct {
	Fabric string `yaml:"fabric"`
	Dims   [3]int `yaml:"dims"` // X, Y, Z
	// WindowMinutes is how many minutes a row may be behind the newest one before it is
	// dropped as late. A minute takes 72 bytes per switch in memory, 1 MB on Blue
	// Waters.
	WindowMinutes int `yaml:"window_minutes"`
	// WholeFile buffers and sorts a whole file in memory (1.4 GB for a day of Blue
	// Waters, at most two days), for files written in blocks of nodes instead of in time
	// order. Files detected as such are treated this way even if it is not set.
	WholeFile bool `yaml:"whole_file"`
	// MaxLatePercent and MaxOutsidePercent are the shares of rows that may be late (or
	// beyond the two days of a whole file) or outside the torus before reading fails.
	MaxLatePercent    float64 `yaml:"max_late_percent"`
	MaxOutsidePercent float64 `yaml:"max_outside_percent"`
	MaxLineErrors     int     `yaml:"max_line_errors"` // how many bad lines the summary lists
}

// DefaultConfig is the configuration for Blue Waters.
func DefaultConfig(fabric string) Config {
	return Config{Fabric: fabric, Dims: [3]int{24, 24, 24}, WindowMinutes: 10, MaxLatePercent: 1, MaxOutsidePercent: 1, MaxLineErrors: 20}
}

// maxSwitches bounds the torus to eight million links, the limit everywhere in Giverny.
const maxSwitches = (8 << 20) / 3

// Validate joins all errors.
func (c *Config) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(c.Fabric != "", "fabric: empty; name the plane or rail")
	switches := 1
	for i, d := range c.Dims {
		check(d >= 1 && d <= 1<<10, "dims[%d] %d: want 1 to 1024", i, d)
		switches *= max(1, min(d, 1<<10))
	}
	check(switches <= maxSwitches, "dims %v: more than %d switches", c.Dims, maxSwitches)
	check(c.WindowMinutes >= 1 && c.WindowMinutes <= 7*24*60, "window_minutes %d: want 1 to a week", c.WindowMinutes)
	check(c.MaxLatePercent >= 0 && c.MaxLatePercent <= 100, "max_late_percent %v: want 0 to 100", c.MaxLatePercent)
	check(c.MaxOutsidePercent >= 0 && c.MaxOutsidePercent <= 100, "max_outside_percent %v: want 0 to 100", c.MaxOutsidePercent)
	check(c.MaxLineErrors >= 0, "max_line_errors %d: want 0 or more", c.MaxLineErrors)
	return errors.Join(errs...)
}

func (c *Config) switches() int { return c.Dims[0] * c.Dims[1] * c.Dims[2] }

// portNames are the ports of all switches, six per switch in column order. Switch (x,
// y, z) has number x + X*(y + Y*z).
func (c *Config) portNames() []schema.PortName {
	ports := make([]schema.PortName, 0, c.switches()*int(numDirections))
	for n := range c.switches() {
		x, y, z := n%c.Dims[0], n/c.Dims[0]%c.Dims[1], n/(c.Dims[0]*c.Dims[1])
		device := coordName(x, y, z)
		for d := range numDirections {
			ports = append(ports, schema.PortName{Device: device, Port: d.String()})
		}
	}
	return ports
}

// coordName is the name of a switch, as used by topology.NewGrid.
func coordName(x, y, z int) string {
	return strconv.Itoa(x) + "," + strconv.Itoa(y) + "," + strconv.Itoa(z)
}
