package bench

import (
	"fmt"
	"time"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/scenario"
	"github.com/giverny/giverny/topology"
)

// stage adds the cause of the incident.
func (d *draft) stage(kind Kind) {
	switch kind {
	case Incast:
		d.incast()
	case TwoIncasts:
		d.twoIncasts()
	case FileSystem:
		d.fileSystem()
	case Contention:
		d.contention()
	case Crossing:
		d.crossing()
	case OwnPattern:
		d.ownPattern()
	case LinkFails, SwitchFails, Flaps, SlowLink:
		d.part(kind)
	case SlowHost:
		d.slowHost()
	case Missing:
		[]func(){d.incast, d.fileSystem, d.crossing, d.contention}[d.rng.IntN(4)]()
	case Coincidence:
		d.incast()
		d.event(scenario.FailLink, d.anyLink(), 0)
	}
}

// culprit records a job whose load causes the incident.
func (d *draft) culprit(j *scenario.Job) {
	if j != nil {
		d.culprits = append(d.culprits, j.ID)
	}
}

// incast: the nodes of a job, often scattered among those of others, send more to one of them than it can receive.
func (d *draft) incast() {
	n := d.between(10, 40)
	hosts := d.scattered(n)
	if d.chance(.4) {
		d.release(hosts)
		hosts = d.compact(n)
	}
	total := d.uniform(1.8, 4) * d.script.Fabric.SendGigabytesPerSecond
	t := d.load(scenario.ManyToOne, total/float64(max(1, len(hosts)-1)))
	t.Target = d.rng.IntN(max(1, len(hosts)))
	d.culprit(d.job("gather", hosts, t, d.steady(scenario.Ring, d.uniform(.2, .8))))
}

// twoIncasts: the nodes of two jobs send to one node of their job each; the two receivers are at one switch, or adjacent on a
// torus.
func (d *draft) twoIncasts() {
	a, b := d.split(d.scattered(2 * d.between(8, 24)))
	for i, x := range a {
		for k, y := range b {
			if d.dims == nil && d.switchAt(d.graph.Hosts()[x]) != d.switchAt(d.graph.Hosts()[y]) || d.dims != nil && (y != x+1 || y%d.dims[0] == 0) {
				continue
			}
			for _, job := range []struct {
				hosts  []int
				target int
			}{{a, i}, {b, k}} {
				t := d.load(scenario.ManyToOne, d.uniform(1.4, 2.5)*d.script.Fabric.SendGigabytesPerSecond/float64(len(job.hosts)-1))
				t.Target = job.target
				d.culprit(d.job("gather", job.hosts, t))
			}
			return
		}
	}
}

func (d *draft) release(hosts []int) {
	for _, h := range hosts {
		d.used[h] = false
	}
}

// fileSystem: a job reads or writes more than the routes to the file system nodes carry.
func (d *draft) fileSystem() {
	if d.chance(.5) { // nodes that receive less than the network delivers
		d.script.Fabric.ReceiveGigabytesPerSecond = d.script.Fabric.SendGigabytesPerSecond * d.uniform(.3, .8)
	}
	pattern := scenario.ReadFS
	if d.chance(.35) {
		pattern = scenario.WriteFS
	}
	t := d.load(pattern, d.script.Fabric.SendGigabytesPerSecond*d.uniform(.4, 1.1))
	t.Stripes = []int{1, 2, 4, 8}[d.rng.IntN(4)]
	var hosts []int
	switch {
	case d.dims == nil:
		hosts = d.compact(d.between(4, 12))
	case d.chance(.3):
		hosts = d.box([3]int{1, 1, d.dims[2]})
	default:
		hosts = d.compact(d.between(12, 32))
	}
	d.culprit(d.job("reader", hosts, t, d.steady(scenario.Halo, d.uniform(.1, .5))))
}

// contention: two jobs with interleaved nodes compete for the same links; the second begins later.
func (d *draft) contention() {
	var hosts []int
	if d.dims != nil { // along Y, whose links have the lowest capacity
		hosts = d.box([3]int{d.between(2, 3), d.dims[1], d.between(2, 3)})
	} else {
		hosts = d.compact(d.between(24, 48))
	}
	a, b := d.split(hosts)
	rate := d.script.Fabric.SendGigabytesPerSecond * d.uniform(.3, .6)
	patterns := []scenario.Pattern{scenario.AllToAll, scenario.Opposite, scenario.Random}
	d.culprit(d.job("first", a, d.steady(patterns[d.rng.IntN(3)], d.boost*rate*d.uniform(.5, .8))))
	second := d.job("second", b, d.load(patterns[d.rng.IntN(3)], rate*d.uniform(.8, 1.2)))
	d.culprit(second)
	d.begins(second)
}

// begins may start a job at the onset, rather than idle until then.
func (d *draft) begins(j *scenario.Job) {
	if j == nil || d.chance(.5) {
		return
	}
	j.Start = d.onset
	for i := range j.Traffic {
		t := &j.Traffic[i]
		if t.From = 0; t.To > 0 {
			t.To -= d.onset
		}
	}
}

// crossing: a large job on scattered nodes exchanges all-to-all, or with opposite nodes.
func (d *draft) crossing() {
	n := int(float64(len(d.used)) * d.uniform(.35, .6))
	pattern := scenario.AllToAll
	if d.chance(.4) {
		pattern = scenario.Opposite
	}
	j := d.job("transpose", d.scattered(n), d.load(pattern, d.script.Fabric.SendGigabytesPerSecond*d.uniform(.5, .9)))
	d.culprit(j)
	d.begins(j)
}

// ownPattern: a job fills the links among its own nodes, which no other job uses.
func (d *draft) ownPattern() {
	pattern := []scenario.Pattern{scenario.Opposite, scenario.AllToAll, scenario.Random}[d.rng.IntN(3)]
	rate := d.script.Fabric.SendGigabytesPerSecond * d.uniform(.5, .95)
	var hosts []int
	switch {
	case d.dims != nil && d.chance(.5): // long along Y, whose links have the lowest capacity
		hosts = d.box([3]int{d.between(1, 3), d.dims[1], d.between(2, 3)})
	case d.dims != nil:
		hosts = d.box([3]int{d.between(3, 5), d.between(5, 7), d.between(3, 5)})
	default: // whole leaves or groups
		size := 8
		for first := 0; first < len(d.used) && len(hosts) < 2*size; first++ {
			h := (first + size*d.between(0, 1)) % len(d.used)
			if !d.used[h] {
				hosts = append(hosts, h)
				d.used[h] = true
			}
		}
	}
	j := d.job("solver", hosts, d.load(pattern, rate))
	d.culprit(j)
	d.begins(j)
}

// busyJob loads the fabric close to saturation; on a torus around an idle switch.
func (d *draft) busyJob() []int {
	send := d.script.Fabric.SendGigabytesPerSecond
	if d.dims == nil {
		hosts := d.run(len(d.used) * 3 / 4)
		d.job("training", hosts, d.calm(scenario.AllToAll, d.boost*send*d.uniform(.42, .5)))
		return hosts
	}
	size := [3]int{d.between(5, 7), d.between(4, 6), d.between(4, 6)}
	hosts := d.box(size)
	middle := len(hosts) / 2
	d.hole = hosts[middle]
	hosts = append(hosts[:middle:middle], hosts[middle+1:]...)
	d.job("transform", hosts, d.calm(scenario.AllToAll, d.boost*d.uniform(2.2, 3)))
	return hosts
}

// calm is steady traffic with small waves.
func (d *draft) calm(p scenario.Pattern, gigabytesPerSecond float64) scenario.Traffic {
	return scenario.Traffic{Pattern: p, GigabytesPerSecond: gigabytesPerSecond, WavePercent: d.uniform(1, 4)}
}

// part breaks or slows a part on the routes of a busy job.
func (d *draft) part(kind Kind) {
	hosts := d.busyJob()
	object := d.loadedLink(hosts)
	switch kind {
	case LinkFails:
		d.event(scenario.FailLink, object, 0)
		for range d.cables() {
			d.event(scenario.FailLink, d.loadedLink(hosts), 0)
		}
	case SwitchFails:
		d.event(scenario.FailSwitch, d.switchOf(hosts), 0)
	case Flaps:
		period := time.Duration(d.between(3, 6)) * interval
		for n := range 1 + d.cables() {
			if n > 0 {
				object = d.loadedLink(hosts)
			}
			e := d.event(scenario.FlapLink, object, 0)
			e.Period, e.Down = period, period/2
		}
	case SlowLink:
		d.event(scenario.SlowLink, object, d.uniform(8, 30))
	}
}

func (d *draft) slowHost() {
	var target int
	if d.dims != nil {
		hosts := d.compact(d.between(24, 48))
		target = hosts[d.rng.IntN(len(hosts))]
		d.job("training", hosts, d.steady(scenario.AllToAll, d.boost*d.uniform(2, 4)))
	} else {
		hosts := d.busyJob()
		target = hosts[d.rng.IntN(len(hosts))]
	}
	d.event(scenario.SlowHost, d.hostName(target), d.uniform(8, 30))
}

func (d *draft) hostName(h int) string { return d.graph.Device(d.graph.Hosts()[h]).Name }

// event adds an event that begins at the onset and lasts as long as the incident.
func (d *draft) event(do scenario.Action, object string, percent float64) *scenario.Event {
	d.script.Events = append(d.script.Events, scenario.Event{After: d.onset, Do: do, Object: object, Percent: percent, For: d.end - d.onset})
	return &d.script.Events[len(d.script.Events)-1]
}

// cables is how many more links fail; on a torus these are of the same switch, as on one mezzanine card.
func (d *draft) cables() int {
	if d.dims != nil {
		return d.between(2, 4)
	}
	return d.rng.IntN(2)
}

// loadedLink is a link between switches that the busy job uses.
func (d *draft) loadedLink(hosts []int) string {
	if d.dims != nil {
		return fmt.Sprintf("%s %s", d.hostName(d.hole), []string{"X+", "X-", "Y+", "Y-", "Z+", "Z-"}[d.rng.IntN(6)])
	}
	at := d.switchAt(d.graph.Hosts()[hosts[d.rng.IntN(len(hosts))]])
	var ports []string
	for _, id := range d.graph.LinksAt(at) {
		if l := d.graph.Link(id); l.From == at && d.graph.IsSwitch(l.To) {
			ports = append(ports, l.FromPort)
		}
	}
	return fmt.Sprintf("%s %s", d.graph.Device(at).Name, ports[d.rng.IntN(len(ports))])
}

// switchAt is the switch of a host.
func (d *draft) switchAt(host topology.DeviceID) topology.DeviceID {
	l := d.graph.Link(d.graph.LinksAt(host)[0])
	if l.From == host {
		return l.To
	}
	return l.From
}

// switchOf is a switch on the routes of hosts: on a torus the idle one among them, since a job ends when its node fails; elsewhere
// one without hosts.
func (d *draft) switchOf(hosts []int) string {
	if d.dims != nil {
		return d.hostName(d.hole)
	}
	leaf := d.switchAt(d.graph.Hosts()[hosts[d.rng.IntN(len(hosts))]])
	var spines []string
	for _, id := range d.graph.LinksAt(leaf) {
		if l := d.graph.Link(id); l.From == leaf && d.graph.IsSwitch(l.To) {
			spines = append(spines, d.graph.Device(l.To).Name)
		}
	}
	return spines[d.rng.IntN(len(spines))]
}

// hostPort is the port of a host.
func (d *draft) hostPort(host topology.DeviceID) string {
	l := d.graph.Link(d.graph.LinksAt(host)[0])
	if l.From == host {
		return l.FromPort
	}
	return l.ToPort
}

// anyLink is any link between switches.
func (d *draft) anyLink() string {
	for {
		l := d.graph.Link(schema.LinkID(d.rng.IntN(d.graph.NumLinks())))
		if d.graph.IsSwitch(l.From) && d.graph.IsSwitch(l.To) {
			return d.graph.Device(l.From).Name + " " + l.FromPort
		}
	}
}

// background fills part of the fabric with jobs that do not congest it.
func (d *draft) background() {
	for range d.between(3, 8) {
		pattern := []scenario.Pattern{scenario.Halo, scenario.Ring, scenario.Halo}[d.rng.IntN(3)]
		hosts := d.compact(d.between(4, max(8, len(d.used)/24)))
		if j := d.job("work", hosts, d.steady(pattern, d.uniform(.2, 1.5))); j != nil && d.chance(.4) {
			io := d.steady([]scenario.Pattern{scenario.ReadFS, scenario.WriteFS}[d.rng.IntN(2)], d.uniform(.02, .1))
			io.Period, io.Active = time.Duration(d.between(6, 14))*interval, time.Duration(d.between(1, 4))*interval
			j.Traffic = append(j.Traffic, io)
		}
	}
}

// addDecoys adds decoys.
func (d *draft) addDecoys(in *Incident) {
	if d.chance(d.style.decoys) { // a job that begins at the onset, elsewhere
		if j := d.job("newcomer", d.compact(d.between(8, 24)), d.steady(scenario.Halo, d.uniform(.5, 2))); j != nil {
			j.Start = d.onset
		}
	}
	if d.chance(d.style.decoys) { // a job with much traffic that crosses no other
		d.job("giant", d.compact(len(d.used)/8), d.steady(scenario.Halo, d.uniform(1, 2.5)))
	}
	if d.chance(d.style.decoys) { // a failure that affects no flow
		in.decoys = append(in.decoys, d.harmless())
	}
}

// harmless is the failure of an idle host or its link, which no flow crosses.
func (d *draft) harmless() schema.Failure {
	f := schema.Failure{Kind: schema.NodeFailed, Detail: "node down", Time: schema.Instant(d.onset - time.Duration(d.between(-2, 6))*interval)}
	for _, h := range d.rng.Perm(len(d.used)) {
		if !d.used[h] {
			f.Device = d.hostName(h)
			if d.dims == nil && d.chance(.5) {
				f.Kind, f.Port, f.Detail = schema.LinkFailed, d.hostPort(d.graph.Hosts()[h]), "link down"
			}
			break
		}
	}
	return f
}
