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
// If jobs that share a switch at home would not, or the reverse, hosts move to the same place at the same switch instead.
// What an event does happens to the counterpart of its link, switch or host.
func (s *Script) fit(home, g *topology.Graph) error {
	if (home.Grid() == nil) != (g.Grid() == nil) {
		return nil // boxes and links of a torus have no counterpart; New says what is missing
	}
	from, to := seatsOf(home), seatsOf(g)
	was, now := len(from.hosts), len(to.hosts)
	move := byNumber(was, now)
	jobs, err := s.moved(was, now, move)
	if meet := s.meetings(from, s.Jobs); err != nil || !slices.Equal(meet, s.meetings(to, jobs)) {
		bySeat := from.bySeat(to)
		if other, fault := s.moved(was, now, bySeat); fault == nil && (err != nil || slices.Equal(meet, s.meetings(to, other))) {
			jobs, err, move = other, nil, bySeat
		}
	}
	if err == nil {
		s.Jobs = jobs
		for i := range s.Events {
			s.Events[i].Object = counterpart(from, to, s.Events[i].Object, move)
		}
		return nil
	}
	for least := now + 1; least < was; least++ {
		if _, tooFew := s.moved(was, least, byNumber(was, least)); tooFew == nil {
			return fmt.Errorf("%w: the story needs %d hosts or more, the fabric has %d", err, least, now)
		}
	}
	return fmt.Errorf("%w: the story needs %d hosts, the fabric has %d", err, was, now)
}

// byNumber moves host numbers in proportion to fewer hosts; on more they stay.
func byNumber(was, now int) func(int) int {
	return func(host int) int { return host * min(now, was) / was }
}

// meetings says of each pair of jobs whether they have hosts at the same switch.
func (s *Script) meetings(at seats, jobs []Job) (meet []bool) {
	var leaves []map[int]bool
	for i := range jobs {
		hosts, _ := numbers(jobs[i].Hosts, len(at.hosts))
		mine := map[int]bool{}
		for _, h := range hosts {
			mine[at.leaf[h]] = true
		}
		for _, other := range leaves {
			shared := false
			for leaf := range mine {
				shared = shared || other[leaf]
			}
			meet = append(meet, shared)
		}
		leaves = append(leaves, mine)
	}
	return meet
}

// moved returns the jobs on now instead of was hosts, with every host at another number. Jobs with host names or without hosts stay
// as they are.
func (s *Script) moved(was, now int, move func(int) int) ([]Job, error) {
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
		stay := true
		for k, h := range hosts {
			to := move(h)
			stay = stay && to == h
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
		if !stay {
			j.Hosts = strings.Join(list, ",")
		}
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

// counterpart is the name, in another fabric, of the device or port that corresponds to an object at home: of a host the one that its
// number moves to, of a switch with hosts that of the first of them, of another device the one of its name, or else the one with the
// same place among its kind, and of a port the one with the same place at its device. What home does not have keeps its name.
func counterpart(home, to seats, object string, move func(int) int) string {
	if d, ok := home.g.FindDevice(object); ok {
		if there, ok := home.counterpart(to, d, move); ok {
			return to.g.Device(there).Name
		}
		return object
	}
	i := strings.LastIndexByte(object, ' ')
	if i < 0 {
		return object
	}
	port, ok := home.g.FindPort(object[:i], object[i+1:])
	if !ok || port.Egress == schema.NoLink {
		return object
	}
	from, peer := home.g.Ends(port.Egress)
	device, ok := home.counterpart(to, from, move)
	if !ok {
		return object
	}
	links := to.egress(device, home.g.IsSwitch(peer), home.g.Device(peer).Level)
	if len(links) == 0 {
		return object
	}
	nth := slices.Index(home.egress(from, home.g.IsSwitch(peer), home.g.Device(peer).Level), port.Egress)
	return to.g.Device(device).Name + " " + to.g.Link(links[nth%len(links)]).FromPort
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
