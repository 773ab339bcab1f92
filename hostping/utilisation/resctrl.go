package utilisation

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/giverny/giverny/hostping"
)

// The kernel's resctrl (Intel RDT, AMD QoS) counts, by memory bandwidth monitoring, the traffic of each group's tasks
// between the third-level cache and memory, without DMA. Each group gets a share of a link's utilisation in proportion
// to its bytes there.

// moved is the bytes that a group has moved since it was created, by socket: to or from local memory, and memory of other
// sockets.
type moved struct {
	pid           int // lowest pid of its tasks; 0: none, or the default group
	local, remote map[int]uint64
}

// ungrouped is the name of the default group, of all tasks in no other.
const ungrouped = "tasks in no resctrl group"

// maxGroups bounds the groups read: hardware has a few hundred ids.
const maxGroups = 4096

// readGroups reads all groups below a mount point of resctrl; sockets maps ids of third-level caches to sockets.
func readGroups(root string, sockets map[int]int) (map[string]moved, error) {
	controls := []string{root}
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, fmt.Errorf("resctrl: %w", err)
	}
	for _, e := range entries {
		if e.IsDir() && !slices.Contains([]string{"info", "mon_groups", "mon_data"}, e.Name()) {
			controls = append(controls, filepath.Join(root, e.Name()))
		}
	}
	groups := map[string]moved{}
	for _, control := range controls {
		own, err := readGroup(control, sockets)
		if err != nil {
			return nil, err
		}
		children, err := os.ReadDir(filepath.Join(control, "mon_groups"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("resctrl: %w", err)
		}
		for _, c := range children {
			child, err := readGroup(filepath.Join(control, "mon_groups", c.Name()), sockets)
			if err != nil {
				return nil, err
			}
			groups[strings.TrimPrefix(filepath.Join(strings.TrimPrefix(control, root), c.Name()), "/")] = child
			own.less(&child) // a control group's counters include its monitoring groups
		}
		name := strings.TrimPrefix(strings.TrimPrefix(control, root), "/")
		if name == "" {
			own.pid = 0
		}
		groups[cmp.Or(name, ungrouped)] = own
		if len(groups) > maxGroups {
			return nil, fmt.Errorf("resctrl: more than %d groups", maxGroups)
		}
	}
	return groups, nil
}

// less subtracts another group's bytes.
func (m *moved) less(o *moved) {
	for socket := range m.local {
		m.local[socket] -= min(m.local[socket], o.local[socket])
		m.remote[socket] -= min(m.remote[socket], o.remote[socket])
	}
}

// readGroup reads one group. Domains with unavailable counters are skipped; a group that was removed in the meantime
// has moved nothing.
func readGroup(folder string, sockets map[int]int) (moved, error) {
	m := moved{local: map[int]uint64{}, remote: map[int]uint64{}}
	domains, err := filepath.Glob(filepath.Join(folder, "mon_data", "mon_L3_*"))
	if err != nil {
		return m, fmt.Errorf("resctrl: %w", err)
	}
	for _, d := range domains {
		id, err := strconv.Atoi(d[strings.LastIndexByte(d, '_')+1:])
		socket, known := sockets[id]
		total, ok1 := counter(filepath.Join(d, "mbm_total_bytes"))
		local, ok2 := counter(filepath.Join(d, "mbm_local_bytes"))
		if err != nil || !known || !ok1 || !ok2 {
			continue
		}
		m.local[socket] += local
		m.remote[socket] += total - min(total, local)
	}
	text, err := os.ReadFile(filepath.Join(folder, "tasks"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return m, fmt.Errorf("resctrl: %w", err)
	}
	for _, word := range strings.Fields(string(text)) {
		if pid, err := strconv.Atoi(word); err == nil && (m.pid == 0 || pid < m.pid) {
			m.pid = pid
		}
	}
	return m, nil
}

// counter reads a counter file, which may say Unavailable or Error.
func counter(path string) (uint64, bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	v, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	return v, err == nil
}

// cacheSockets maps the ids of third-level caches to sockets, from sysfs.
func cacheSockets(sysfs string) (map[int]int, error) {
	caches, err := filepath.Glob(filepath.Join(sysfs, "devices/system/cpu/cpu[0-9]*/cache/index3/id"))
	if err != nil {
		return nil, err
	}
	sockets := map[int]int{}
	for _, path := range caches {
		id, ok1 := counter(path)
		socket, ok2 := counter(filepath.Join(filepath.Dir(path), "../../topology/physical_package_id"))
		if ok1 && ok2 {
			sockets[int(id)] = int(socket)
		}
	}
	if len(sockets) == 0 {
		return nil, errors.New("resctrl: the CPUs name no third-level cache")
	}
	return sockets, nil
}

// consumers lists the groups that moved bytes between two readings, with their share of the links' utilisation. Remote
// traffic crosses the socket's buses. With two sockets it goes to the other's memory; with more the counters do not
// show whose.
func consumers(before, after map[string]moved, g *hostping.Graph, links map[string]float64) (found []hostping.Process) {
	sockets := map[int]bool{}
	used, sum := map[string]map[string]float64{}, map[string]float64{}
	for _, m := range after {
		for s := range m.local {
			sockets[s] = true
		}
	}
	for name, now := range after {
		then, ok := before[name]
		if !ok {
			continue
		}
		used[name] = map[string]float64{}
		for s := range now.local {
			local, remote := grown(then.local[s], now.local[s]), grown(then.remote[s], now.remote[s])
			for _, l := range g.Links {
				bytes := 0.
				switch own := l.A == socketID(s) || l.B == socketID(s); {
				case l.Kind == hostping.Memory && own:
					bytes = local
				case l.Kind == hostping.Memory && len(sockets) == 2, l.Kind == hostping.InterSocket && own:
					bytes = remote
				}
				used[name][l.ID] += bytes
				sum[l.ID] += bytes
			}
		}
	}
	for name, bytes := range used {
		p := hostping.Process{PID: after[name].pid, Name: name, Links: map[string]float64{}}
		for link, n := range bytes {
			if n > 0 && links[link] > 0 {
				p.Links[link] = links[link] * n / sum[link]
			}
		}
		if len(p.Links) > 0 {
			found = append(found, p)
		}
	}
	slices.SortFunc(found, func(a, b hostping.Process) int { return cmp.Compare(a.Name, b.Name) })
	return found
}

// grown is the increase of a counter; 0 if it was reset with its group.
func grown(then, now uint64) float64 { return float64(now - min(then, now)) }

func socketID(s int) string { return "socket" + strconv.Itoa(s) }
