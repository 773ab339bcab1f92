package utilisation

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Reading is the counters of an RNIC since the driver was loaded.
type Reading struct {
	At          time.Time
	Bytes       uint64  // of the busier direction
	PauseMicros uint64  // time for which it paused its network
	Drops       uint64  // packets dropped for lack of buffer
	RateGbps    float64 // of its first port
}

// Stats reads the statistics of a network interface: *collectors/ethtool.Linux.
type Stats interface {
	Stats(name string) (map[string]uint64, error)
}

// RNICs reads the counters of RNICs.
type RNICs struct {
	Root  string // sysfs; empty: /sys
	Stats Stats  // nil: no pauses and no drops of the port
	Now   func() time.Time
}

// bytesPerWord: a port's data counters count words of 4 bytes (IBA, PortXmitData).
const bytesPerWord = 4

// Read reads an RNIC's counters over all its ports.
func (r *RNICs) Read(device string) (Reading, error) {
	if device == "" || strings.ContainsAny(device, `/\`) || strings.HasPrefix(device, ".") {
		return Reading{}, fmt.Errorf("RNIC %.80q: want a name such as mlx5_0", device)
	}
	root := cmp.Or(r.Root, "/sys")
	folder := filepath.Join(root, "class/infiniband", device)
	ports, err := os.ReadDir(filepath.Join(folder, "ports"))
	if err != nil {
		return Reading{}, fmt.Errorf("RNIC %s: %w", device, err)
	}
	got := Reading{At: r.Now()}
	for _, p := range ports {
		port := filepath.Join(folder, "ports", p.Name())
		sent, err1 := number(filepath.Join(port, "counters/port_xmit_data"))
		received, err2 := number(filepath.Join(port, "counters/port_rcv_data"))
		dropped, err3 := number(filepath.Join(port, "hw_counters/out_of_buffer"))
		if err := errors.Join(err1, err2, err3); err != nil {
			return got, fmt.Errorf("RNIC %s: %w", device, err)
		}
		got.Bytes += max(sent, received) * bytesPerWord
		got.Drops += dropped
		if got.RateGbps == 0 {
			got.RateGbps = rateOf(filepath.Join(port, "rate"))
		}
		if text, err := os.ReadFile(filepath.Join(port, "gid_attrs/ndevs/0")); err == nil && r.Stats != nil {
			r.port(&got, strings.TrimSpace(string(text)))
		}
	}
	return got, nil
}

// port adds the statistics of a port's network interface. mlx5 counts pause microseconds by
// priority (tx_prio3_pause_duration) or in total (tx_global_pause_duration).
func (r *RNICs) port(got *Reading, netdev string) {
	stats, err := r.Stats.Stats(netdev)
	if err != nil { // an interface without statistics
		return
	}
	var longest uint64
	for name, v := range stats {
		switch {
		case strings.HasPrefix(name, "tx_") && strings.HasSuffix(name, "pause_duration"):
			longest = max(longest, v)
		case name == "rx_discards_phy", strings.HasPrefix(name, "rx_prio") && strings.HasSuffix(name, "_discards"):
			got.Drops += v
		}
	}
	got.PauseMicros += longest
}

// number reads a file; a counter that a driver lacks is 0.
func number(path string) (uint64, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	return n, nil
}

// rateOf reads "100 Gb/sec (4X EDR)"; 0: unknown.
func rateOf(path string) float64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	gbps, _, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	rate, err := strconv.ParseFloat(gbps, 64)
	if err != nil || rate < 0 {
		return 0
	}
	return rate
}

// Change is the change between two readings.
type Change struct {
	Share      float64 // of the line rate, 0 to 1; negative: unknown
	PauseShare float64 // of the time, 0 to 1, for which it paused its network
	Drops      uint64
}

// Since returns the change from an earlier reading. Counters that decreased were reset:
// the change is then unknown.
func (r Reading) Since(before Reading) Change {
	c := Change{Share: -1}
	seconds := r.At.Sub(before.At).Seconds()
	if seconds <= 0 {
		return c
	}
	if r.Bytes >= before.Bytes && r.RateGbps > 0 {
		const bitsPerByte = 8
		c.Share = min(1, float64(r.Bytes-before.Bytes)*bitsPerByte/1e9/seconds/r.RateGbps)
	}
	if r.PauseMicros >= before.PauseMicros {
		c.PauseShare = min(1, float64(r.PauseMicros-before.PauseMicros)/1e6/seconds)
	}
	if r.Drops >= before.Drops {
		c.Drops = r.Drops - before.Drops
	}
	return c
}
