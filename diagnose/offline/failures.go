package offline

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/giverny/giverny/collectors/nodes"
	"github.com/giverny/giverny/schema"
)

// kinds maps the names used in a failures file.
var kinds = []struct {
	name string
	kind schema.EventKind
}{
	{"link_failed", schema.LinkFailed}, {"link_restored", schema.LinkRestored},
	{"switch_failed", schema.SwitchFailed}, {"switch_restored", schema.SwitchRestored},
	{"node_failed", schema.NodeFailed}, {"node_restored", schema.NodeRestored},
	{"protection", schema.Throttled}, {string(schema.Throttled), schema.Throttled},
}

// failureTable holds the rows of a failures file, by time once sorted.
type failureTable struct {
	rows  []schema.Failure
	given int
}

// readFailures reads tab-separated lines of time, kind, device, port and detail, in any order. Trailing fields may be
// left out. A header and lines that begin with # are ignored.
func (r *reading) readFailures(f *File) error {
	return f.lines(func(line string) error {
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "time\t") {
			return nil
		}
		failure, err := r.parseFailure(line)
		if err != nil {
			return err
		}
		return r.addFailure(failure)
	})
}

// addFailure adds a failure with the name of its device, or of several as a host list: one at each device of each node, or none
// where it is to be left out.
func (r *reading) addFailure(f schema.Failure) error {
	f.Fabric = r.graph.Fabric()
	names, err := nodes.Expand([]string{f.Device})
	if err != nil {
		return fmt.Errorf("device %q: %w", f.Device, err)
	}
	for _, name := range names {
		f.Device = name
		placed, err := r.place(f)
		if err != nil {
			return err
		}
		r.failures.rows = append(r.failures.rows, placed...)
	}
	return nil
}

// sort is called when all failures have been added.
func (t *failureTable) sort() {
	slices.SortStableFunc(t.rows, func(a, b schema.Failure) int { return cmp.Compare(a.Time, b.Time) })
}

// parseFailure reads a line.
func (r *reading) parseFailure(line string) (failure schema.Failure, err error) {
	fields := strings.SplitN(strings.TrimSuffix(line, "\r"), "\t", 5)
	if len(fields) < 2 {
		return failure, fmt.Errorf("%.80q: want time, kind, device, port and detail, separated by tabs", line)
	}
	for len(fields) < 5 {
		fields = append(fields, "")
	}
	failure = schema.Failure{Device: strings.TrimSpace(fields[2]), Port: strings.TrimSpace(fields[3]), Detail: fields[4]}
	if failure.Time, err = schema.ParseInstant(strings.TrimSpace(fields[0]), r.cfg.Zone); err != nil {
		return failure, err
	}
	if failure.Time == 0 {
		return failure, errors.New("no time")
	}
	var names []string
	for _, k := range kinds[:len(kinds)-1] {
		names = append(names, k.name)
	}
	i := slices.IndexFunc(kinds, func(k struct {
		name string
		kind schema.EventKind
	}) bool {
		return k.name == strings.TrimSpace(fields[1])
	})
	if i < 0 {
		return failure, fmt.Errorf("kind %q: want one of %s", fields[1], strings.Join(names, ", "))
	}
	failure.Kind = kinds[i].kind
	return failure, nil
}

// place finds the device and port of a failure in the topology, or all devices of its node.
func (r *reading) place(f schema.Failure) (placed []schema.Failure, err error) {
	if f.Device == "" {
		if f.Kind == schema.Throttled {
			return []schema.Failure{f}, nil
		}
		return nil, fmt.Errorf("%s of no device", f.Kind)
	}
	byFabric, reason := r.resolver.Device(f.Device)
	if reason != "" {
		fault := fmt.Errorf("device %q is not in the topology", f.Device)
		if !r.cfg.SkipUnknown {
			return nil, fmt.Errorf("%w; %s give --node-map, or --skip-unknown to go on without", fault,
				r.hint(f.Device))
		}
		r.note("unknown devices", "%w: its failure is left out", fault)
		return nil, nil
	}
	for _, place := range r.resolver.FailedAt(byFabric, f)[0] {
		f.Device, f.Port = place.Device, place.Port
		placed = append(placed, f)
	}
	if len(placed) > 0 {
		return placed, nil
	}
	fault := fmt.Errorf("device %q has no port %q", f.Device, f.Port)
	if n := len(byFabric[0]); n > 1 {
		fault = fmt.Errorf("port %q of %q may be of each of its %d devices, or of none", f.Port, f.Device, n)
	}
	if !r.cfg.SkipUnknown {
		return nil, fmt.Errorf("%w; \"giverny topology links\" lists ports, --skip-unknown goes on without", fault)
	}
	r.note("unknown ports", "%w: its failure is left out", fault)
	return nil, nil
}

// until returns the failures before end that were not returned before.
func (t *failureTable) until(end schema.Instant) []schema.Failure {
	first := t.given
	for t.given < len(t.rows) && t.rows[t.given].Time < end {
		t.given++
	}
	return t.rows[first:t.given]
}
