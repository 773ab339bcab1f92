package replay

import (
	"math"

	"github.com/giverny/giverny/diagnose/bench"
	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/topology"
)

// larger multiplies the nodes of jobs on a torus, which has more.
func (d *draft) larger() int {
	if d.dims != nil {
		return 2
	}
	return 1
}

// incast: the nodes of a job send to one of its own, or to another host.
func (d *draft) incast(own bool) int {
	hosts := d.either(d.between(10, 28)*d.larger(), .6)
	target := hosts[d.rng.IntN(len(hosts))]
	if !own {
		target = d.scattered(1)[0]
	}
	small := traffic{pairs: halo(hosts), rounds: 2, cells: 1, duty: d.uniform(.05, .2), from: math.MinInt, to: d.scene.length}
	load := d.burst(toOne(hosts, target), d.between(3, 4), .5, .95)
	load.pulls = load.pulls && own // reads would count where they arrive
	return d.add("gather", hosts, d.startOf(), load, small)
}

// files: a job writes to the storage nodes more than they or the links to them take, or few of its nodes read more than they
// take.
func (d *draft) files() int {
	t := traffic{file: writes, cells: d.between(2, 4)}
	var hosts []int
	if total := d.uniform(1.3, 3) * d.boost; d.chance(.6) {
		hosts = d.either(d.between(12, 30)*d.larger(), .4)
		t.pairs = striped(hosts, d.storage, d.between(1, 2), true)
		t.rate = math.Min(.9, total*d.scene.receive*float64(len(d.storage))/float64(len(t.pairs)))
	} else {
		hosts, t.file = d.either(d.between(3, 10)*d.larger(), .4), reads
		d.slowBuses()
		t.pairs = striped(hosts, d.storage, len(d.storage), false)
		t.rate = math.Min(.9, total*d.scene.receive*float64(len(hosts))/float64(len(t.pairs)))
	}
	compute := d.steady(halo(hosts), .05, .3)
	return d.add([]string{"checkpoint", "loader"}[d.rng.IntN(2)], hosts, d.startOf(), d.onsetOf(t), compute)
}

// slowBuses sometimes limits what all hosts accept, as their PCIe does, to less than their links carry.
func (d *draft) slowBuses() {
	if d.chance(.25) {
		d.scene.receive *= d.uniform(.6, .85)
	}
}

// readsFirst: a job reads from the storage nodes for 15 to 20 minutes before its reads congest the fabric.
func (d *draft) readsFirst() {
	hosts := d.either(d.between(4, 10)*d.larger(), .3)
	d.slowBuses()
	t := traffic{file: reads, cells: d.between(2, 4), pairs: striped(hosts, d.storage, len(d.storage), false), to: d.end, low: d.uniform(.15, .3), risesAt: halves * d.between(15, 20)}
	t.rate = math.Min(.9, d.uniform(1.4, 2.5)*d.boost*d.scene.receive*float64(len(hosts))/float64(len(t.pairs)))
	t.from, t.rises = d.onset-t.risesAt, halves*d.between(0, 2)
	d.add("enzo", hosts, []int{t.from, -d.between(10, 900)}[d.rng.IntN(2)], t, d.steady(halo(hosts), .05, .3))
}

// contention: a job begins on nodes between those of another.
func (d *draft) contention() int {
	hosts := d.compact(d.between(28, 56) * d.larger())
	var sides [2][]int
	for i, at := range d.rng.Perm(len(hosts)) {
		sides[i%2] = append(sides[i%2], hosts[at])
	}
	pattern := []func([]int) [][2]int{allToAll, opposite}[d.rng.IntN(2)]
	d.add("cfd", sides[0], -d.between(10, 900), d.heavy(d.steady(pattern(sides[0]), .25, .5)))
	return d.add("lattice", sides[1], d.startOf(), d.burst(pattern(sides[1]), d.between(4, 8), .7, .98))
}

// heavy makes the messages of an exchange larger.
func (d *draft) heavy(t traffic) traffic {
	t.cells = d.between(3, 6)
	return t
}

// crossing: a large scattered job exchanges all to all across others.
func (d *draft) crossing() int {
	for range d.between(3, 5) {
		hosts := d.compact(d.between(8, 20))
		d.add("md", hosts, -d.between(10, 900), d.heavy(d.steady(opposite(hosts), .2, .4)))
	}
	hosts := d.scattered(d.between(32, 64) * d.larger())
	return d.add("spectral", hosts, d.startOf(), d.burst(allToAll(hosts), d.between(4, 8), .7, .98))
}

// ownPattern: a compact job fills the links among its nodes.
func (d *draft) ownPattern() int {
	hosts := d.compact(d.between(24, 64) * d.larger())
	pattern := []func([]int) [][2]int{allToAll, opposite}[d.rng.IntN(2)]
	return d.add("solver", hosts, d.startOf(), d.burst(pattern(hosts), d.between(4, 8), .7, .98))
}

// busy: jobs with heavy exchanges come and go.
func (d *draft) busy() {
	for range d.between(4, 6) {
		hosts := d.either(d.between(12, 28)*d.larger(), .5)
		t := d.burst([]func([]int) [][2]int{allToAll, opposite, halo}[d.rng.IntN(3)](hosts), d.between(4, 8), .5, .95)
		t.from = d.onset + d.between(-10, 10)
		t.to = min(d.scene.length, t.from+halves*d.between(8, 24))
		d.add("campaign", hosts, []int{t.from, -d.between(10, 900)}[d.rng.IntN(2)], t)
	}
}

// part breaks or slows a part that a large job needs.
func (d *draft) part(kind bench.Kind) {
	f := fault{kind: linkDown, from: d.onset, to: d.end, group: d.groups}
	d.groups++
	if kind == SwitchFails && (d.dims != nil || d.in.Set == "dragonfly") { // one whose hosts are idle
		f.device = d.idleSwitch()
	}
	n := len(d.used) * d.between(55, 75) / 100
	if d.dims != nil {
		n = d.between(48, 110)
	}
	hosts := d.compact(n)
	middle := hosts[len(hosts)/2+d.between(-2, 2)]
	t := d.steady(allToAll(hosts), .3, .6)
	t.rounds, t.cells = 1, d.between(1, 2) // all peers at once, so that many wait for the part
	t.duty *= d.boost
	if d.in.Set == "dragonfly" { // one cable between two groups
		t.duty *= .5
	}
	if d.chance(.7) { // asynchronous: a pair that does not wait for the part goes on
		t.cells, t.rate = d.between(3, 5), math.Min(.9, t.duty)*math.Min(d.scene.send, d.scene.receive)/t.busiest()
	}
	t.duty = math.Min(.97, t.duty)
	d.add("training", hosts, -d.between(10, 900), t)
	switch kind {
	case SlowHost:
		f.kind, f.share = slowHost, d.uniform(.06, .25)
		for _, f.device = range d.ports.devices[middle] {
			d.scene.faults = append(d.scene.faults, f)
		}
		return
	case SwitchFails:
		f.kind = switchDown
	case SlowLink:
		f.kind, f.share = degraded, d.uniform(.08, .3)
	case Flaps:
		f.period = d.between(5, 12)
		f.down = f.period/2 + d.rng.IntN(2)
	}
	switch sw := d.switchOf(middle); {
	case d.failPorts(f, middle):
	case kind == SwitchFails:
		if d.dims == nil && d.in.Set != "dragonfly" {
			spines := d.spinesAbove(d.channels, sw)
			f.device = spines[d.rng.IntN(len(spines))]
		}
		d.failSwitches(f, f.device)
	default:
		cables := 1
		if kind != SlowLink {
			cables = d.between(1, 4)
		}
		for range cables {
			d.cut(f, d.cableAt(d.channels, sw))
		}
	}
}

// failSwitches adds a fault of switches.
func (d *draft) failSwitches(f fault, switches ...topology.DeviceID) {
	for _, sw := range switches {
		f.device, f.channels = sw, nil
		for _, l := range d.graph.LinksAt(sw) {
			f.channels = append(f.channels, d.channels.Of(l)...)
		}
		d.scene.faults = append(d.scene.faults, f)
	}
}

// cut adds a fault of a cable.
func (d *draft) cut(f fault, ch routing.Channel) {
	f.device, _ = d.channels.Ends(ch)
	f.port = d.channels.Name(ch)[len(d.graph.Device(f.device).Name)+1:]
	_, back := d.channels.Ports(f.device, f.port)
	f.channels = []routing.Channel{ch, back}
	d.scene.faults = append(d.scene.faults, f)
}

// idleSwitch takes the hosts of a switch, so that no job is on them.
func (d *draft) idleSwitch() topology.DeviceID {
	for {
		sw, free := d.switchOf(d.rng.IntN(len(d.used))), true
		var hosts []int
		for h := range d.used {
			if d.switchOf(h) == sw {
				hosts, free = append(hosts, h), free && !d.used[h]
			}
		}
		if free {
			d.take(hosts)
			return sw
		}
	}
}
