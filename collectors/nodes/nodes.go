// Package nodes maps a scheduler's nodes or a log's hosts to devices of fabrics. Input: names, host lists, and an
// optional map file. Output: devices by fabric, and the names without a device, with the reason. It opens no file
// by itself.
package nodes

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/giverny/giverny/internal/hostname"
	"github.com/giverny/giverny/topology"
)

// Map maps a node to devices, if its name is not enough.
type Map map[string][]string

// maxLine bounds a line of a map, in bytes.
const maxLine = 64 << 10

// ReadMap reads lines of "node<TAB>device". The node may be a host list with as many names as the device's list;
// a node with several lines has several devices (rails). Empty lines and those starting with # are skipped. name
// is the file name in errors.
func ReadMap(r io.Reader, name string) (Map, error) {
	m := Map{}
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, maxLine)
	n := 1
	for ; scan.Scan(); n++ {
		line := strings.TrimRight(scan.Text(), "\r")
		if n == 1 {
			line = strings.TrimPrefix(line, "\ufeff") // a byte order mark, as some editors write it
		}
		if !utf8.ValidString(line) || strings.Contains(line, "\x00") {
			return nil, fmt.Errorf("%s:%d: not UTF-8; convert the file, with iconv say", name, n)
		}
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := m.add(line); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
	switch err := scan.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("%s:%d: the line is longer than %d bytes; want node, tab, device", name, n, maxLine)
	case err != nil:
		return nil, fmt.Errorf("%s:%d: %w", name, n, err)
	}
	return m, nil
}

// OpenMap reads a map file through open, which is like os.Open. An empty name means no map.
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
	if !ok || node == "" || device == "" || strings.Contains(device, "\t") {
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
		if len(devices) == 1 { // several nodes share a device
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

// Reason is why a name has no device.
type Reason string

// Reasons.
const (
	Unknown Reason = "unknown"     // neither a device of the fabrics nor in the map
	NoSuch  Reason = "mapped_away" // mapped to a device that no fabric has
)

// Resolver finds devices by names. It is immutable and safe for concurrent use.
type Resolver struct {
	fabrics []index
	nodes   Map
}

// index has the alternative names of a fabric's devices.
type index struct {
	graph *topology.Graph
	// By label, and by the label's first word: "node12" for an adapter labelled "node12 mlx5_0".
	byWord map[string][]string
	// By plain name: the key of byWord, empty if there are several.
	byPlain map[string]string
}

// add adds a name of a device.
func (in *index) add(name, device string) {
	in.byWord[name] = append(in.byWord[name], device)
	key := plain(name)
	if other, known := in.byPlain[key]; known && other != name {
		name = ""
	}
	in.byPlain[key] = name
}

// plain is a name with its host in lower case and without domain.
func plain(name string) string {
	host, rest, labelled := strings.Cut(name, " ")
	short, _ := hostname.Unqualified(host)
	if labelled {
		short += " " + rest
	}
	return short
}

// New returns a resolver for the devices of fabrics. nodes may be nil. A name is looked up in the map, then
// among device names and GUIDs, labels, first words of labels (a host's adapters are labelled "node12 mlx5_0"),
// without its domain, and finally whatever its case and domain and the device's, if that leaves one host of a fabric.
func New(graphs []*topology.Graph, nodes Map) *Resolver {
	r := &Resolver{nodes: nodes}
	for _, g := range graphs {
		in := index{graph: g, byWord: map[string][]string{}, byPlain: map[string]string{}}
		for i := range g.NumDevices() {
			d := g.Device(topology.DeviceID(i))
			called := cmp.Or(d.Label, d.Name)
			in.add(called, d.Name)
			if word, _, more := strings.Cut(called, " "); more && !g.IsSwitch(topology.DeviceID(i)) {
				in.add(word, d.Name)
			}
		}
		r.fabrics = append(r.fabrics, in)
	}
	return r
}

// Similar finds a device that a name without a device resembles; empty if there is none.
func (r *Resolver) Similar(name string) string {
	for i := range r.fabrics {
		if similar := r.fabrics[i].graph.Similar(name); similar != "" {
			return similar
		}
	}
	return ""
}

// guidDigits is the number of hexadecimal digits of a GUID.
const guidDigits = 16

// Fabrics are the names of the fabrics, in the order given.
func (r *Resolver) Fabrics() []string {
	names := make([]string, len(r.fabrics))
	for i := range r.fabrics {
		names[i] = r.fabrics[i].graph.Fabric()
	}
	return names
}

// Device returns the devices of a node in each fabric, in the order of Fabrics; reason is empty if there are any.
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
		for i := range r.fabrics {
			if name := r.fabrics[i].byPlain[plain(node)]; name != "" {
				look(name)
			}
		}
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
	if digits, hex := strings.CutPrefix(name, "0x"); hex && len(digits) <= guidDigits { // a GUID as printed by tools
		guid := strings.Repeat("0", guidDigits-len(digits)) + digits
		if d, ok := in.graph.FindDevice(guid); ok {
			return []string{in.graph.Device(d).Name}
		}
	}
	return in.byWord[name]
}

// IsSwitch reports whether a device of a fabric is a switch.
func (r *Resolver) IsSwitch(fabric int, device string) bool {
	id, ok := r.fabrics[fabric].graph.FindDevice(device)
	return ok && r.fabrics[fabric].graph.IsSwitch(id)
}

// Missing counts names without a device, by reason.
type Missing map[Reason]map[string]int

// maxMissing bounds the names stored per reason; more are counted under "".
const maxMissing = 1000

// Add counts a name.
func (m Missing) Add(node string, reason Reason) {
	if m[reason] == nil {
		m[reason] = map[string]int{}
	}
	if _, known := m[reason][node]; !known && len(m[reason]) >= maxMissing {
		node = ""
	}
	m[reason][node]++
}

// Devices returns the devices of all nodes in each fabric, without duplicates, in node order. Names without a
// device are added to missing, which may be nil.
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

// isList reports whether a name is a host list: it has a bracket, or names separated by commas. Numbers separated
// by commas are device coordinates, and a name with blanks is a label.
func isList(name string) bool {
	if strings.Contains(name, "[") {
		return true
	}
	isPartOfCoordinates := func(r rune) bool { return r == ',' || r >= '0' && r <= '9' }
	return strings.Contains(name, ",") && !strings.Contains(name, " ") && strings.TrimFunc(name, isPartOfCoordinates) != ""
}

// Expand expands the host lists in names. Device names such as "9,1,1" are unchanged.
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
