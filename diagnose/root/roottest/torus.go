package roottest

import (
	"slices"
	"testing"

	"github.com/giverny/giverny/diagnose/routes"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Torus is a snapshot of a torus with settable readings.
type Torus struct {
	Graph      *topology.Graph
	Router     *routes.Router
	Grid       *routes.Grid // of Graph
	Snap       *schema.Snapshot
	Stall, Use *schema.Series            // of Snap
	Was        map[schema.LinkID]float64 // use before the onset, percent
}

// NewTorus returns a torus of 8x8x8 switches without traffic.
func NewTorus(t testing.TB) *Torus {
	t.Helper()
	g := Graph(t, "torus:8x8x8")
	snap := calm(g)
	router := routes.NewRouter(g)
	return &Torus{Graph: g, Router: router, Grid: router.Grid, Snap: snap, Stall: snap.Find(schema.CreditStall),
		Use: snap.Find(schema.BandwidthUsed), Was: map[schema.LinkID]float64{}}
}

// Before is a link's use before the onset, percent.
func (u *Torus) Before(l schema.LinkID) float64 { return u.Was[l] }

// Device finds a switch by its coordinates, like "0,1,2".
func (u *Torus) Device(t testing.TB, name string) topology.DeviceID {
	t.Helper()
	d, ok := u.Graph.FindDevice(name)
	if !ok {
		t.Fatal(name)
	}
	return d
}

// Send adds 1% of a 15 GB/s link per sender to all links on its route. These always have more to send.
func (u *Torus) Send(senders []topology.DeviceID, to topology.DeviceID) (links []schema.LinkID) {
	for _, d := range senders {
		u.Grid.EachOnRoute(d, to, func(l schema.LinkID) {
			if u.Use.Values[l] == 0 {
				links = append(links, l)
			}
			u.Use.Values[l] += float32(100 * .15e9 / u.Graph.Capacity(l))
			u.Stall.Values[l] = 100 - u.Use.Values[l]
		})
	}
	return links
}

// Share lets a switch accept a rate, bytes/s, with every switch serving its inputs in equal parts: senders are not
// served alike, the nearest get most. They always have more to send.
func (u *Torus) Share(senders []topology.DeviceID, to topology.DeviceID, rate float64) (links []schema.LinkID) {
	into := map[topology.DeviceID][]schema.LinkID{}
	for _, d := range senders {
		u.Grid.EachOnRoute(d, to, func(l schema.LinkID) {
			if !slices.Contains(links, l) {
				_, end := u.Grid.Leading(l, to)
				into[end], links = append(into[end], l), append(links, l)
			}
		})
	}
	var divide func(topology.DeviceID, float64)
	divide = func(d topology.DeviceID, rate float64) {
		inputs := len(into[d])
		if d != to && slices.Contains(senders, d) {
			inputs++
		}
		for _, l := range into[d] {
			part := rate / float64(inputs)
			u.Use.Values[l] = float32(100 * part / u.Graph.Capacity(l))
			u.Stall.Values[l] = 100 - u.Use.Values[l]
			from, _ := u.Grid.Leading(l, to)
			divide(from, part)
		}
	}
	divide(to, rate)
	return links
}
