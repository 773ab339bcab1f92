package trees

import "testing"

// TestWhichSinksAreOneCause checks two sinks that share all their sources: they are one cause, unless one is a link sink, or a
// tree begins at each of two level leaves.
func TestWhichSinksAreOneCause(t *testing.T) {
	spine := sink{link: -1, stall: 30}
	leaf := sink{link: -1, stall: 30, isLeaf: true}
	slow, receiver := spine, leaf
	slow.link, receiver.isReceiver = 0, true
	for _, c := range []struct {
		name string
		a, b sink
		want bool
	}{
		{"two spines", spine, spine, true},
		{"a link sink and a spine", slow, spine, false},
		{"a spine and a link sink", spine, slow, false},
		{"two level leaves", leaf, leaf, true},
		{"a tree's leaf and a level one", receiver, leaf, true},
		{"a leaf and a level one of a tree", leaf, receiver, true},
		{"two trees' leaves", receiver, receiver, false},
	} {
		s := &sinks{all: []sink{c.a, c.b}}
		s.all[1].bit = 1
		x := &causes{levels: make([]plateau, 2), double: []double{{-1, -1}, {-1, -1}}, alsoIn: []levelID{-1, -1}}
		x.level.Reset(2)
		x.level.Union(0, 1)
		x.evidence.one[0], x.evidence.one[1], x.evidence.two[0][1] = 10, 10, 10
		if got := x.areOne(&trees{}, s, 0, 1); got != c.want {
			t.Errorf("%s: one cause: %v", c.name, got)
		}
	}
}
