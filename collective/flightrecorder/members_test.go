package flightrecorder

import (
	"reflect"
	"slices"
	"testing"
)

// analysisOf has found the groups of the dumps.
func analysisOf(dumps ...*Dump) *analysis {
	a := &analysis{dumps: map[int]*Dump{}, listed: map[string]Group{}, seen: map[string]Group{}}
	for _, d := range dumps {
		a.add(d)
	}
	slices.Sort(a.ranks)
	a.findGroups()
	return a
}

// in is a dump with an entry in each of the groups, of which desc describes some.
func in(rank int, desc map[string]string, groups ...string) *Dump {
	d := &Dump{Rank: rank, descs: desc}
	for i, g := range groups {
		d.Entries = append(d.Entries, Entry{RecordID: int64(i), Group: g, Seq: int64(i)})
	}
	return d
}

// listing is a dump whose pg_config lists ranks for a group.
func listing(rank int, name string, ranks ...int) *Dump {
	return &Dump{Rank: rank, Groups: map[string]Group{name: {Ranks: ranks}}}
}

func TestMembersOfGroups(t *testing.T) {
	whole := map[string]string{"g": defaultGroup}
	for name, c := range map[string]struct {
		dumps []*Dump
		want  []int // as rank 0 knows group g
		notes int
	}{
		"by entries, once each":            {[]*Dump{in(0, nil, "g", "g"), in(1, nil), in(2, nil, "g", "h", "g")}, []int{0, 2}, 1 + 1},
		"described as the whole job":       {[]*Dump{in(0, nil), in(1, whole, "g"), in(2, nil)}, []int{0, 1, 2}, 1},
		"described by the first rank only": {[]*Dump{in(0, whole, "g"), in(1, nil, "g"), in(2, nil)}, []int{0, 1, 2}, 1},
		"by pg_config":                     {[]*Dump{listing(0, "g", 1, 0), in(1, nil, "g")}, []int{1, 0}, 0},
		"by another's pg_config":           {[]*Dump{in(0, nil, "g"), listing(1, "g", 1, 0), in(2, nil, "g")}, []int{1, 0}, 0},
		"another's, without this rank":     {[]*Dump{in(0, nil, "g"), listing(1, "g", 1, 2), in(2, nil, "g")}, []int{0, 2}, 0},
		"an empty pg_config lists nothing": {[]*Dump{listing(0, "g"), in(1, nil, "g"), listing(2, "g")}, []int{1}, 1},
		"the first pg_config with ranks":   {[]*Dump{listing(0, "g"), listing(1, "g", 0, 1)}, []int{0, 1}, 0},
		"unknown":                          {[]*Dump{in(0, nil), in(1, nil)}, nil, 0},
	} {
		a := analysisOf(c.dumps...)
		if got := a.group(0, "g").Ranks; !slices.Equal(got, c.want) || len(a.out.Notes) != c.notes {
			t.Errorf("%s: %v and notes %q, want %v and %d notes", name, got, a.out.Notes, c.want, c.notes)
		}
	}
	if got := analysisOf(in(0, nil), in(1, nil, defaultGroup)).group(0, defaultGroup).Ranks; !slices.Equal(got, []int{0, 1}) {
		t.Errorf("the group named %s has ranks %v, want all", defaultGroup, got)
	}
}

func TestOrderOfMembers(t *testing.T) {
	for name, c := range map[string]struct {
		dumps []*Dump
		want  bool // for rank 0 and group g
	}{
		"own pg_config":                      {[]*Dump{listing(0, "g", 2, 0)}, true},
		"another's pg_config":                {[]*Dump{in(0, nil, "g"), listing(1, "g", 1, 0)}, true},
		"another's, without this rank":       {[]*Dump{in(0, nil, "g"), listing(1, "g", 1, 2)}, false},
		"entries of all ranks from 0":        {[]*Dump{in(0, nil, "g"), in(1, nil, "g")}, true},
		"entries of some ranks":              {[]*Dump{in(0, nil, "g"), in(1, nil, "g"), in(2, nil)}, false},
		"entries of all dumps, one is lost":  {[]*Dump{in(0, nil, "g"), in(2, nil, "g")}, false},
		"entries of others, as many as rank": {[]*Dump{in(0, nil), in(1, nil, "g"), in(2, nil, "g")}, false},
		"nothing":                            {[]*Dump{in(0, nil), in(1, nil)}, false},
	} {
		if got := analysisOf(c.dumps...).inOrder(0, "g"); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestStatusOfAGroup(t *testing.T) {
	entry := func(group string, record, seq int64, s State) Entry {
		return Entry{RecordID: record, Group: group, Seq: seq, State: s}
	}
	p2p := Entry{Group: "g", Seq: 9, P2P: true, State: Completed}
	unknown := Status{-1, -1, -1}
	named := map[int]string{3: "g", 4: "h"}
	member := map[string]Group{"g": {Ranks: []int{0}}}
	for name, c := range map[string]struct {
		dump  Dump
		want  Status
		known bool
	}{
		"pg_status":                 {Dump{Status: map[int]Status{3: {7, 6, 5}, 4: {1, 1, 1}}, groupOf: named, Entries: []Entry{entry("g", 0, 9, Completed)}}, Status{7, 6, 5}, true},
		"pg_status of others":       {Dump{Status: map[int]Status{4: {1, 1, 1}}, groupOf: named}, unknown, true},
		"pg_status without a name":  {Dump{Status: map[int]Status{4: {1, 1, 1}, 5: {2, 2, 2}}, groupOf: named}, unknown, false},
		"pg_status without a row":   {Dump{hasStatus: true}, unknown, true},
		"entries":                   {Dump{Entries: []Entry{entry("g", 0, 5, Completed), entry("g", 1, 4, Completed), entry("g", 2, 6, Started), entry("g", 3, 3, Scheduled)}}, Status{6, -1, 5}, true},
		"an entry, not completed":   {Dump{Entries: []Entry{entry("g", 9, 2, Started)}}, Status{2, -1, -1}, true},
		"a send":                    {Dump{Entries: []Entry{p2p}}, unknown, true},
		"a send in a full buffer":   {Dump{Entries: []Entry{{RecordID: 2, Group: "g", Seq: 9, P2P: true, State: Completed}}}, unknown, false},
		"another group's entries":   {Dump{Entries: []Entry{entry("h", 1, 5, Completed)}}, unknown, true},
		"the first was overwritten": {Dump{Entries: []Entry{entry("h", 2, 5, Completed)}}, unknown, false},
		"only what is incomplete":   {Dump{Entries: []Entry{entry("h", 0, 5, Started)}, Groups: member}, unknown, false},
		"no entries, a member":      {Dump{Groups: member}, unknown, true},
		"no entries, not a member":  {Dump{}, unknown, false},
	} {
		if got, known := c.dump.status("g"); !reflect.DeepEqual(got, c.want) || known != c.known {
			t.Errorf("%s: %+v %v, want %+v %v", name, got, known, c.want, c.known)
		}
	}
}
