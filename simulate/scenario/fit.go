package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// fit adapts a story to another fabric than home, for which it was written. On a fabric with fewer hosts, host numbers scale
// with the number of hosts, and the senders that remain of a many_to_one send more, so that the receiver's port gets the same.
// A link, switch or host of an event that this fabric does not have is replaced by that with the same place among its kind.
func (s *Script) fit(home, g *topology.Graph) error {
	if (home.Grid() == nil) != (g.Grid() == nil) {
		return nil // boxes and links of a torus have no counterpart; New says what is missing
	}
	for i := range s.Events {
		e := &s.Events[i]
		e.Object = counterpart(home, g, e.Object)
	}
	was, now := len(home.Hosts()), len(g.Hosts())
	if now >= was {
		return nil
	}
	jobs, err := s.fewerHosts(was, now)
	if err == nil {
		s.Jobs = jobs
		return nil
	}
	for least := now + 1; least < was; least++ {
		if _, tooFew := s.fewerHosts(was, least); tooFew == nil {
			return fmt.Errorf("%w: the story needs %d hosts or more, the fabric has %d", err, least, now)
		}
	}
	return fmt.Errorf("%w: the story needs %d hosts, the fabric has %d", err, was, now)
}

// fewerHosts returns the jobs on now instead of was hosts. Jobs with host names or without hosts stay as they are.
func (s *Script) fewerHosts(was, now int) ([]Job, error) {
	jobs, users := make([]Job, len(s.Jobs)), make([][]int, now) // users: by host, the jobs there so far
	for i := range s.Jobs {
		j := s.Jobs[i]
		hosts, err := numbers(j.Hosts, was)
		if err != nil || hosts == nil {
			jobs[i] = j
			continue
		}
		rank := map[int]int{} // in the job, by host
		ranks := make([]int, len(hosts))
		var list []string
		for k, h := range hosts {
			to := h * now / was
			r, known := rank[to]
			if !known {
				r = len(list)
				rank[to], list = r, append(list, strconv.Itoa(to))
				for _, other := range users[to] {
					if o := &s.Jobs[other]; o.Start < j.End && j.Start < o.End {
						return nil, fmt.Errorf("jobs %q and %q would share a host", o.ID, j.ID)
					}
				}
				users[to] = append(users[to], i)
			}
			ranks[k] = r
		}
		if j.Traffic, err = fewerNodes(&j, ranks, len(list)); err != nil {
			return nil, err
		}
		j.Hosts = strings.Join(list, ",")
		jobs[i] = j
	}
	return jobs, nil
}

// fewerNodes returns a job's traffic on nodes hosts; ranks maps the old ranks to the new ones.
func fewerNodes(j *Job, ranks []int, nodes int) ([]Traffic, error) {
	traffic := append([]Traffic(nil), j.Traffic...)
	for k := range traffic {
		t, least := &traffic[k], min(2, len(ranks))
		if t.Pattern == ManyToOne {
			least = min(3, len(ranks)) // with one sender, the receiver's port is never overloaded
		}
		if nodes < least {
			return nil, fmt.Errorf("job %q would have %d of the %d hosts that its %s needs", j.ID, nodes, least, t.Pattern)
		}
		if t.Pattern == ManyToOne {
			t.Target = ranks[t.Target%len(ranks)]
			t.GigabytesPerSecond *= float64(len(ranks)-1) / float64(nodes-1)
		}
	}
	return traffic, nil
}

var errNumbers = errors.New("not host numbers")

// numbers expands a list of host numbers below limit, "0-3,9"; nil if it is empty.
func numbers(list string, limit int) (hosts []int, err error) {
	if list == "" {
		return nil, nil
	}
	for _, part := range strings.Split(list, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			last = first
		}
		a, errA := strconv.Atoi(first)
		b, errB := strconv.Atoi(last)
		if errA != nil || errB != nil || a < 0 || b < a || b >= limit {
			return nil, errNumbers
		}
		for ; a <= b; a++ {
			hosts = append(hosts, a)
		}
	}
	return hosts, nil
}

// counterpart is the name, in g, of the device or port with the same place among its kind as object has in home. An object that
// g has, or home does not have, keeps its name.
func counterpart(home, g *topology.Graph, object string) string {
	if d, ok := home.FindDevice(object); ok {
		if _, known := g.FindDevice(object); known {
			return object
		}
		if to, ok := samePlace(home, g, d); ok {
			return g.Device(to).Name
		}
		return object
	}
	i := strings.LastIndexByte(object, ' ')
	if i < 0 {
		return object
	}
	port, ok := home.FindPort(object[:i], object[i+1:])
	if !ok || port.Egress == schema.NoLink {
		return object
	}
	if same, known := g.FindPort(object[:i], object[i+1:]); known && sameLevels(home, g, port.Egress, same.Egress) {
		return object
	}
	from, to := home.Ends(port.Egress)
	device, ok := samePlace(home, g, from)
	if !ok {
		return object
	}
	nth := slices.Index(egress(home, from, home.Device(to).Level), port.Egress)
	links := egress(g, device, home.Device(to).Level)
	if len(links) == 0 {
		return object
	}
	return g.Device(device).Name + " " + g.Link(links[nth%len(links)]).FromPort
}

// sameLevels reports whether two links of two graphs lead between the same levels.
func sameLevels(home, g *topology.Graph, a, b schema.LinkID) bool {
	if b == schema.NoLink {
		return false
	}
	aFrom, aTo := home.Ends(a)
	bFrom, bTo := g.Ends(b)
	return home.Device(aFrom).Level == g.Device(bFrom).Level && home.Device(aTo).Level == g.Device(bTo).Level
}

// samePlace returns the device of g whose place among the devices of its level, as a share of these, is that of d in home.
func samePlace(home, g *topology.Graph, d topology.DeviceID) (topology.DeviceID, bool) {
	level := home.Device(d).Level
	was, now := devicesAt(home, level), devicesAt(g, level)
	if len(now) == 0 {
		return 0, false
	}
	place := slices.Index(was, d)
	if len(now) < len(was) {
		place = place * len(now) / len(was)
	}
	return now[place], true
}

func devicesAt(g *topology.Graph, level int8) (list []topology.DeviceID) {
	for d := range topology.DeviceID(g.NumDevices()) {
		if g.Device(d).Level == level {
			list = append(list, d)
		}
	}
	return list
}

// egress lists the links that leave a device to devices of a level.
func egress(g *topology.Graph, d topology.DeviceID, level int8) (list []schema.LinkID) {
	for _, l := range g.LinksAt(d) {
		if from, to := g.Ends(l); from == d && g.Device(to).Level == level {
			list = append(list, l)
		}
	}
	return list
}

// Playable lists the built-in stories that play on a fabric.
func Playable(g *topology.Graph) (names []string) {
	for _, name := range BuiltinNames() {
		s, err := Builtin(name)
		if err == nil {
			err = s.PlayOn(g, "")
		}
		if err == nil {
			_, err = New(g, s, 1, 0)
		}
		if err == nil {
			names = append(names, name)
		}
	}
	return names
}
