package replay

import (
	"math"

	"github.com/giverny/giverny/schema"
)

// background adds jobs that do not congest the fabric.
func (d *draft) background() {
	for range d.between(4, 9) {
		hosts := d.compact(d.between(4, max(8, len(d.used)/20)))
		if len(hosts) < 2 {
			continue
		}
		t := d.steady(halo(hosts), .1, .4)
		if d.chance(.25) {
			t = d.steady(allToAll(hosts), .1, .25)
		}
		j := d.add([]string{"wrf", "namd", "milc", "qmc"}[d.rng.IntN(4)], hosts, -d.between(10, 3000), t)
		if d.chance(.4) {
			d.scene.jobs[j].traffic = append(d.scene.jobs[j].traffic, d.trickle(hosts, d.chance(.5)))
		}
		if d.chance(.15) && !d.scene.jobs[j].unlisted { // an innocent job missing from the job table
			d.scene.jobs[j].unlisted = true
		}
	}
}

// trickle is file traffic that congests nothing, for a part of the scene.
func (d *draft) trickle(hosts []int, to bool) traffic {
	t := traffic{file: reads, cells: 1, pairs: striped(hosts, d.storage, 1, to), from: d.rng.IntN(d.scene.length), to: d.scene.length}
	if to {
		t.file = writes
	}
	if d.chance(.5) {
		t.from = math.MinInt
	}
	t.rate = d.uniform(.05, .25) * d.quiet * float64(len(d.storage)) / float64(len(t.pairs)+1) / 4
	return t
}

// decoys adds what looks suspicious and is not.
func (d *draft) decoys() {
	onset := d.in.Onset
	if d.chance(.5) { // a job that begins in the same minute elsewhere
		hosts := d.compact(d.between(8, 20))
		d.add("newcomer", hosts, onset, d.later(d.steady(halo(hosts), .3, .6), onset))
	}
	if d.chance(.4) { // a large job that moves much and crosses no other
		hosts := d.compact(len(d.used) / 8)
		d.add("giant", hosts, -d.between(10, 900), d.steady(halo(hosts), .5, .8))
	}
	if d.chance(.3) { // an array of small jobs
		for range d.between(6, 14) {
			if hosts := d.scattered(1); len(hosts) > 0 {
				d.add("array", hosts, onset+d.between(-12, 12), d.later(d.trickle(hosts, true), 0))
			}
		}
	}
	if d.chance(.3) { // a job on hosts of another, perhaps the culprit
		j := &d.scene.jobs[d.rng.IntN(len(d.scene.jobs))]
		if len(j.hosts) > 1 {
			hosts := j.hosts[:max(2, len(j.hosts)/2)]
			d.add("viz", hosts, onset-d.between(-4, 60), d.later(d.steady(halo(hosts), .03, .12), 0))
		}
	}
	if d.chance(.5) { // a part fails that nothing uses
		d.harmless(onset - d.between(-3, 24))
	}
	if d.chance(.2) && onset > calmHalves { // a cable fails long before, and the rest carry its load
		f := fault{kind: linkDown, from: d.between(2, onset-4), to: d.scene.length, group: d.groups}
		d.groups++
		d.cut(f, d.cableAt(d.channels, d.switchOf(d.rng.IntN(len(d.used)))))
	}
}

// later moves the beginning of traffic.
func (d *draft) later(t traffic, from int) traffic {
	t.from = from
	return t
}

// harmless adds the failure of an idle host or its cable, if there is one.
func (d *draft) harmless(at int) {
	f := schema.Failure{Fabric: d.graph.Fabric(), Kind: schema.NodeFailed, Detail: "node down", Time: instant(at)}
	for _, h := range d.rng.Perm(len(d.used)) {
		if d.used[h] {
			continue
		}
		d.used[h] = true
		if d.dims == nil && d.chance(.5) {
			l := d.portOf(h)
			f.Kind, f.Device, f.Port, f.Detail = schema.LinkFailed, d.graph.Device(l.From).Name, l.FromPort, "link down"
			d.in.noCable = append(d.in.noCable, f)
			return
		}
		for _, device := range d.ports.devices[h] {
			f.Device = d.graph.Device(device).Name
			d.in.noCable = append(d.in.noCable, f)
		}
		return
	}
}
