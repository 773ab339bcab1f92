package utilisation

import (
	"fmt"
	"strings"

	"github.com/giverny/giverny/hostping"
)

// traffic is the sockets' traffic: GB/s of their memory, and the share of the buses
// between sockets or the GB/s on them.
type traffic struct {
	memory   map[int]float64 // GB/s, by socket
	busShare map[int]float64 // of the fuller direction, 0 to 1, by socket
	bus      map[int]float64 // GB/s out of the socket
}

func newTraffic() traffic {
	return traffic{map[int]float64{}, map[int]float64{}, map[int]float64{}}
}

// pcmMemory reads `pcm-memory -nc -csv`: for each SKTn the columns "Mem Read (MB/s)"
// and "Mem Write (MB/s)".
func pcmMemory(text string, t *traffic) error {
	list, err := columns(text, func(name string) bool { return name == "Mem Read (MB/s)" || name == "Mem Write (MB/s)" })
	if err != nil {
		return fmt.Errorf("pcm-memory: %w", err)
	}
	for _, c := range list {
		if socket, _, ok := socketOf(c.group, "SKT"); ok {
			t.memory[socket] += c.value / 1000
		}
	}
	return nil
}

// pcmSystem reads `pcm -csv`: for each "SKTn dataIn (percent)" and "SKTn trafficOut
// (percent)" the columns UPI0, UPI1, ... (QPI0 on older CPUs). Since traffic is spread
// over a socket's links, their mean counts, for the fuller direction.
func pcmSystem(text string, t *traffic) error {
	list, err := columns(text, func(name string) bool { return strings.HasPrefix(name, "UPI") || strings.HasPrefix(name, "QPI") })
	if err != nil {
		return fmt.Errorf("pcm: %w", err)
	}
	type direction struct {
		socket int
		of     string
	}
	sum, n := map[direction]float64{}, map[direction]int{}
	for _, c := range list {
		if socket, rest, ok := socketOf(c.group, "SKT"); ok && strings.HasSuffix(rest, "(percent)") {
			d := direction{socket, rest}
			sum[d] += c.value / 100
			n[d]++
		}
	}
	for d, s := range sum {
		t.busShare[d.socket] = max(t.busShare[d.socket], s/float64(n[d]))
	}
	return nil
}

// uProf reads `AMDuProfPcm -m memory,xgmi -a -A package`: for each "Package-n" the
// columns "Total Mem Bw (GB/s)" and "xGMI Outbound Data Bytes (GB/s)".
func uProf(text string, t *traffic) error {
	const memory, bus = "Total Mem Bw (GB/s)", "xGMI Outbound Data Bytes (GB/s)"
	list, err := columns(text, func(name string) bool { return name == memory || strings.HasSuffix(name, bus) })
	if err != nil {
		return fmt.Errorf("AMDuProfPcm: %w", err)
	}
	for _, c := range list {
		socket, _, ok := socketOf(c.group, "Package")
		switch {
		case !ok:
		case c.name == memory:
			t.memory[socket] += c.value
		default:
			t.bus[socket] += c.value
		}
	}
	return nil
}

// Capacities of a host's buses, GB/s; 0: unknown, and omitted.
type Capacities struct {
	// Bandwidth of the memory of one socket, all channels together, GB/s.
	MemoryGBps float64 `yaml:"memory_gbytes_per_second"`
	// Bandwidth of the buses between two sockets in one direction, GB/s; not needed with Intel PCM, which reports their utilisation.
	InterSocketGBps float64 `yaml:"inter_socket_gbytes_per_second"`
}

// links converts the sockets' traffic to the utilisation of links: a socket's memory
// nodes share its channels, and the buses to other sockets share its outgoing traffic.
func (t *traffic) links(g *hostping.Graph, c Capacities) map[string]float64 {
	shares := map[string]float64{}
	note := func(id string, v float64) { shares[id] = min(1, max(shares[id], v)) }
	for _, l := range g.Links {
		for _, end := range []string{l.A, l.B} {
			socket, _, ok := socketOf(end, "socket")
			if !ok {
				continue
			}
			gbps, measured := t.memory[socket]
			if l.Kind == hostping.Memory && measured && c.MemoryGBps > 0 {
				note(l.ID, gbps/c.MemoryGBps)
			}
			if l.Kind != hostping.InterSocket {
				continue
			}
			if share, measured := t.busShare[socket]; measured {
				note(l.ID, share)
			}
			if gbps, measured := t.bus[socket]; measured && c.InterSocketGBps > 0 {
				note(l.ID, gbps/c.InterSocketGBps)
			}
		}
	}
	return shares
}
