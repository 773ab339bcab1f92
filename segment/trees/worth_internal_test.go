package trees

import (
	"fmt"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/segment/linkset"
)

// What a slow link explains counts in units of how well what hangs together with it is explained, unless it is clearly
// above all that stalls behind it, or several links can wait for nothing else.
func TestWorthIsInUnitsOfTheMisfitAround(t *testing.T) {
	g := stalls.Fabric(t, stalls.TwoLevels)
	m := New(g, overlapping())
	var out linkset.Groups
	scene := exchangeAmong(4, 30).With(slowTree())
	scene[[2]string{"leaf0", "spine0"}] = 50 // waits for the slow link, too
	m.Segment(scene.On(t, g), &out)
	slow := stalls.LinkNamed(t, g, "spine0", "leaf7")
	a := m.sinks.at[m.placeOf(int32(slow))]
	if a < 0 {
		t.Fatal("the slow link is no sink")
	}
	m.shares.taken[a], m.shares.unheard[a] = 5, 0
	i, next := m.node[slow], m.node[stalls.LinkNamed(t, g, "host0", "leaf0")]
	m.peak[m.list[i]] = next // as if it could wait for that
	least := leastWorth + leastWorthEach*float64(m.shares.taken[a])
	for _, c := range []struct {
		name                   string
		worth, misfit, hottest float64
		isAlone, want          bool
	}{
		{"too little", .9, 0, 0, false, false},
		{"enough, and the rest is explained to the noise", 1.2, .5, 0, false, true},
		{"enough, and the rest is off by one deviation", 1.2, 1, 0, false, true},
		{"enough, and the rest is off by two", 1.2, 2, 0, false, false},
		{"twice enough, and the rest is off by two", 2.4, 2, 0, false, true},
		{"clearly above what it may wait for", 1.2, 2, .5, false, true},
		{"hardly above what it may wait for", 1.2, 2, .9, false, true},
		{"the same, and the rest is off by three", 1.2, 3, .9, false, false},
		{"too little, but the only link that others may wait for", .8, 1, 0, true, true},
		{"the same, and the rest is off by three", .8, 3, 0, true, false},
		{"the same, and explains even less", .6, 1, 0, true, false},
	} {
		m.shares.worth[a], m.stall[next] = c.worth*least, c.hottest*m.stall[i]
		for j := range m.shares.misfit {
			m.shares.misfit[j] = c.misfit
			if m.second[m.list[j]] = m.stall[j]; c.isAlone {
				m.second[m.list[j]] = 0
			}
		}
		if got := m.isWorth(a); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// exchangeAmong stalls the hosts of the first leaves both ways, and all links between these leaves.
func exchangeAmong(leaves int, percent float32) stalls.ByEnds {
	s := stalls.ByEnds{}
	for leaf := range leaves {
		for h := range 8 {
			host := fmt.Sprint("host", 8*leaf+h)
			s[[2]string{host, fmt.Sprint("leaf", leaf)}], s[[2]string{fmt.Sprint("leaf", leaf), host}] = percent, percent
		}
		for spine := range 4 {
			up, down := fmt.Sprint("leaf", leaf), fmt.Sprint("spine", spine)
			s[[2]string{up, down}], s[[2]string{down, up}] = percent, percent
		}
	}
	return s
}

// slowTree is what waits for the link from spine0 to leaf7: links from leaves 4 to 6, and their hosts.
func slowTree() stalls.ByEnds {
	s := stalls.ByEnds{{"spine0", "leaf7"}: 60}
	for leaf := 4; leaf < 7; leaf++ {
		s[[2]string{fmt.Sprint("leaf", leaf), "spine0"}] = 50
		for h := range 4 {
			s[[2]string{fmt.Sprint("host", 8*leaf+h), fmt.Sprint("leaf", leaf)}] = 40
		}
	}
	return s
}
