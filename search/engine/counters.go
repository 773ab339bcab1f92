package engine

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/giverny/giverny/collectors/ethtool"
	"github.com/giverny/giverny/internal/perftest"
	"github.com/giverny/giverny/search"
)

// sysfsRoot has a folder for each RDMA device.
const sysfsRoot = "/sys/class/infiniband"

// rigHost is a host of a rig, and how to run commands on it.
type rigHost struct {
	RigHost
	perftest.Host
}

// counters of a host by name: "counters/port_rcv_data", "hw_counters/out_of_buffer" and
// "ethtool/tx_prio3_pause_duration", with the kernel's values.
type counters map[string]uint64

func (h *rigHost) portFolder() string {
	return fmt.Sprintf("%s/%s/ports/%d", sysfsRoot, h.Device, h.DevicePort)
}

// read reads all counters of the host.
func (h *rigHost) read(ctx context.Context) (counters, error) {
	c := counters{}
	// Unreadable counters make grep fail although it prints the others.
	text, err := h.Run(ctx, "grep", "-r", ".", h.portFolder()+"/counters", h.portFolder()+"/hw_counters")
	if len(text) == 0 && err != nil {
		return nil, err
	}
	c.addFiles(h.portFolder()+"/", text)
	if h.Interface == "" {
		return c, nil
	}
	if text, err = h.Run(ctx, "ethtool", "-S", h.Interface); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return c, nil // an interface without statistics
	}
	stats, err := ethtool.ReadDump(bytes.NewReader(text), "")
	if err != nil {
		return nil, fmt.Errorf("ethtool -S %s on %s: %w", h.Interface, h, err)
	}
	for _, s := range stats {
		c["ethtool/"+strings.TrimPrefix(s.Name, ".")] = s.Value
	}
	return c, nil
}

// addFiles parses lines such as FOLDER/hw_counters/NAME:VALUE.
func (c counters) addFiles(folder string, text []byte) {
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		file, value, _ := strings.Cut(lines.Text(), ":")
		name, ok := strings.CutPrefix(file, folder)
		if n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 64); ok && err == nil {
			c[name] = n
		}
	}
}

// since returns the increases; a counter that decreased was reset and is omitted.
func (c counters) since(before counters) counters {
	d := counters{}
	for name, v := range c {
		if was, ok := before[name]; ok && v >= was {
			d[name] = v - was
		}
	}
	return d
}

// matching reports whether a name matches one of the patterns.
func matching(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return ok && err == nil
	})
}

// names returns the counters of all hosts that match the patterns, sorted.
func names(patterns []string, hosts ...counters) []string {
	all := map[string]bool{}
	for _, c := range hosts {
		for name := range c {
			if matching(patterns, name) {
				all[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// quantumBits is the length of a pause quantum in bits, maxQuanta the most per pause
// frame (IEEE 802.3, annex 31B).
const (
	quantumBits = 512
	maxQuanta   = 65535
)

// pausePercent is the share of time for which the host sent pause to its peer. Drivers
// that count microseconds are taken at their word (mlx5: tx_global_pause_duration,
// tx_prioN_pause_duration); otherwise each frame counts as the longest possible pause,
// which gives an upper bound.
func (c counters) pausePercent(seconds, lineRateGbps float64) float64 {
	var micros, frames float64
	timed := false
	for name, v := range c {
		name, ok := strings.CutPrefix(name, "ethtool/tx_")
		switch {
		case !ok:
		case strings.HasSuffix(name, "pause_duration"):
			micros, timed = max(micros, float64(v)), true
		case strings.HasSuffix(name, "pause"), strings.HasSuffix(name, "pause_frames"):
			frames += float64(v)
		}
	}
	if !timed {
		micros = frames * maxQuanta * quantumBits / (lineRateGbps * 1e3)
	}
	return min(100, 100*micros/(1e6*seconds))
}

// observed fills in the pauses, counters and status of a sample from both hosts' counters.
func (r *Rig) observed(m *search.Measurement, d *search.Description, a, b counters) {
	seconds := float64(r.SampleSeconds)
	m.TxPausePercent = []float64{a.pausePercent(seconds, d.LineRateGbps), b.pausePercent(seconds, d.LineRateGbps)}
	m.Counters = map[string]float64{}
	for _, name := range d.Counters {
		m.Counters[name] = float64(a[name]+b[name]) / seconds
	}
	for _, name := range names(r.Congestion, a, b) {
		if a[name]+b[name] > 0 {
			m.Status = search.NotQuiet
		}
	}
}
