// Package nodes finds the devices of fabrics that a scheduler's nodes or a log's hosts are. In go names as others
// write them, host lists, and a map from one to the other; out come devices by fabric, and what was not found with
// the reason. It opens no file by itself.
package nodes

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/giverny/giverny/topology"
)

// Map says which devices a node is, where its name alone does not: node to devices.
type Map map[string][]string

// maxLine bounds a line of a map.
const maxLine = 64 << 10

// ReadMap reads lines of node, tab, device. The node may be a host list of as many names as the device's list; a
// node of several lines is several devices (rails). Empty lines and those that begin with # say nothing. name
// stands for the file in errors.
func ReadMap(r io.Reader, name string) (Map, error) {
	m := Map{}
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, maxLine)
	n := 1
	for ; scan.Scan(); n++ {
		line := strings.TrimRight(scan.Text(), "\r")
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := m.add(line); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
	if err := scan.Err(); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", name, n, err)
	}
	return m, nil
}

// OpenMap reads the map in a file that open gives, as os.Open does. No name is no map.
func OpenMap[File io.ReadCloser](open func(name string) (File, error), name string) (Map, error) {
	if name == "" {
		return nil, nil
	}
	file, err := open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return ReadMap(file, name)
}

func (m Map) add(line string) error {
	node, device, ok := strings.Cut(line, "\t")
	node, device = strings.TrimSpace(node), strings.TrimSpace(device)
	if !ok || node == "" || device == "" {
		return fmt.Errorf("%.80q: want node, tab, device", line)
	}
	names := []string{node}
	devices := []string{device}
	if strings.Contains(node, "[") {
		var err error
		if names, err = Expand(names); err != nil {
			return err
		}
		if devices, err = Expand(devices); err != nil {
			return err
		}
		if len(devices) == 1 { // all of them hang on one device
			devices = slices.Repeat(devices, len(names))
		}
		if len(devices) != len(names) {
			return fmt.Errorf("%.80q: %d nodes and %d devices", line, len(names), len(devices))
		}
	}
	for i := range names {
		if !slices.Contains(m[names[i]], devices[i]) {
			m[names[i]] = append(m[names[i]], devices[i])
		}
	}
	return nil
}

// Reason why a name is no device.
type Reason string

// Reasons.
const (
	Unknown Reason = "unknown"     // no device of the fabrics has this name, and the map does not list it
	NoSuch  Reason = "mapped_away" // the map names a device that no fabric has
)

// Resolver finds devices by names. It does not change once made, and is safe for concurrent use.
type Resolver struct {
	fabrics []index
	nodes   Map
}

// index is how the devices of a fabric may be called.
type index struct {
	graph *topology.Graph
	// By what people call it, and the first word of that: "node12" of an adapter that is called "node12 mlx5_0".
	byWord map[string][]string
}

// New makes a resolver for the devices of some fabrics. nodes may be nil. A name is looked for in the map, then
// among names and GUIDs of devices, among labels, by the first word of labels (a host's adapters are labelled
// "node12 mlx5_0"), and then without its domain.
func New(graphs []*topology.Graph, nodes Map) *Resolver {
	r := &Resolver{nodes: nodes}
	for _, g := range graphs {
		in := index{graph: g, byWord: map[string][]string{}}
		for i := range g.NumDevices() {
			d := g.Device(topology.DeviceID(i))
			called := cmp.Or(d.Label, d.Name)
			in.byWord[called] = append(in.byWord[called], d.Name)
			if word, _, more := strings.Cut(called, " "); more && !g.IsSwitch(topology.DeviceID(i)) {
				in.byWord[word] = append(in.byWord[word], d.Name)
			}
		}
		r.fabrics = append(r.fabrics, in)
	}
	return r
}

// guidDigits is how long a GUID is.
const guidDigits = 16

// Fabrics are the names of the fabrics, in the order given.
func (r *Resolver) Fabrics() []string {
	names := make([]string, len(r.fabrics))
	for i := range r.fabrics {
		names[i] = r.fabrics[i].graph.Fabric()
	}
	return names
}

// Device finds the devices of one node in each fabric, in the order of Fabrics; reason is empty if there is any.
func (r *Resolver) Device(node string) (byFabric [][]string, reason Reason) {
	byFabric = make([][]string, len(r.fabrics))
	found := false
	look := func(name string) {
		for i := range r.fabrics {
			for _, d := range r.fabrics[i].find(name) {
				if !slices.Contains(byFabric[i], d) {
					byFabric[i] = append(byFabric[i], d)
				}
				found = true
			}
		}
	}
	short, _, qualified := strings.Cut(node, ".")
	mapped, listed := r.nodes[node]
	if !listed && qualified {
		mapped, listed = r.nodes[short]
	}
	if listed {
		for _, name := range mapped {
			look(name)
		}
		if !found {
			return byFabric, NoSuch
		}
		return byFabric, ""
	}
	if look(node); !found && qualified {
		look(short)
	}
	if !found {
		return byFabric, Unknown
	}
	return byFabric, ""
}

func (in *index) find(name string) []string {
	if d, ok := in.graph.FindDevice(name); ok {
		return []string{in.graph.Device(d).Name}
	}
	if digits, hex := strings.CutPrefix(name, "0x"); hex && len(digits) <= guidDigits { // a GUID as tools print it
		guid := strings.Repeat("0", guidDigits-len(digits)) + digits
		if d, ok := in.graph.FindDevice(guid); ok {
			return []string{in.graph.Device(d).Name}
		}
	}
	return in.byWord[name]
}

// IsSwitch says whether a device of a fabric is a switch.
func (r *Resolver) IsSwitch(fabric int, device string) bool {
	id, ok := r.fabrics[fabric].graph.FindDevice(device)
	return ok && r.fabrics[fabric].graph.IsSwitch(id)
}

// Missing counts names that are no device, by reason.
type Missing map[Reason]map[string]int

// maxMissing bounds how many names are kept for each reason; more are counted under "".
const maxMissing = 1000

// Add counts one.
func (m Missing) Add(node string, reason Reason) {
	if m[reason] == nil {
		m[reason] = map[string]int{}
	}
	if _, known := m[reason][node]; !known && len(m[reason]) >= maxMissing {
		node = ""
	}
	m[reason][node]++
}

// Devices are the devices of all nodes in each fabric, each once, in the order of the nodes. What is no device goes
// into missing, which may be nil.
func (r *Resolver) Devices(names []string, missing Missing) [][]string {
	all := make([][]string, len(r.fabrics))
	seen := make([]map[string]bool, len(r.fabrics))
	for i := range seen {
		seen[i] = map[string]bool{}
	}
	for _, node := range names {
		found, reason := r.Device(node)
		if reason != "" {
			if missing != nil {
				missing.Add(node, reason)
			}
			continue
		}
		for i := range found {
			for _, d := range found[i] {
				if !seen[i][d] {
					seen[i][d] = true
					all[i] = append(all[i], d)
				}
			}
		}
	}
	return all
}

// isList says whether a name is a host list: one with a bracket, or names separated by commas. Numbers separated by
// commas are the coordinates of a device, and a name with blanks is a label.
func isList(name string) bool {
	if strings.Contains(name, "[") {
		return true
	}
	isPartOfCoordinates := func(r rune) bool { return r == ',' || r >= '0' && r <= '9' }
	return strings.Contains(name, ",") && !strings.Contains(name, " ") && strings.TrimFunc(name, isPartOfCoordinates) != ""
}

// Expand expands the host lists among some names. Names of devices such as "9,1,1" stay as they are.
func Expand(names []string) ([]string, error) {
	if !slices.ContainsFunc(names, isList) {
		return names, nil
	}
	var all []string
	for _, name := range names {
		if !isList(name) {
			all = append(all, name)
			continue
		}
		hosts, err := topology.HostList(name)
		if err != nil {
			return nil, err
		}
		all = append(all, hosts...)
	}
	return all, nil
}
