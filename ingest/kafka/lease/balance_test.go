package lease

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/giverny/giverny/ingest/kafka"
)

func TestAssign(t *testing.T) {
	all := []int{0, 1, 2, 3}
	for _, c := range []struct {
		name    string
		members []kafka.GroupMember
		want    map[string][]int
	}{
		{"the first takes all", []kafka.GroupMember{{ID: "a", Can: all}}, map[string][]int{"a": all}},
		{"a second is given nothing before the first has given back",
			[]kafka.GroupMember{{ID: "a", Can: all, Has: all}, {ID: "b", Can: all}}, map[string][]int{"a": {2, 3}, "b": {}}},
		{"and then its half",
			[]kafka.GroupMember{{ID: "a", Can: all, Has: []int{2, 3}}, {ID: "b", Can: all}}, map[string][]int{"a": {2, 3}, "b": {0, 1}}},
		{"one dies, and only its fabrics move",
			[]kafka.GroupMember{{ID: "a", Can: all, Has: []int{0}}, {ID: "c", Can: all, Has: []int{3}}}, map[string][]int{"a": {0, 1}, "c": {2, 3}}},
		{"what only one can own stays with it",
			[]kafka.GroupMember{{ID: "a", Can: all, Has: all}, {ID: "b", Can: []int{3}}}, map[string][]int{"a": {0, 1, 2}, "b": {}}},
		{"what its owner can own no longer moves",
			[]kafka.GroupMember{{ID: "a", Can: []int{0}, Has: []int{0, 1}}, {ID: "b", Can: []int{0, 1}}}, map[string][]int{"a": {0}, "b": {}}},
	} {
		if got := assign(c.members); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// Whatever members come and go, a partition never has two owners; once the members settle, every partition
// has one, and their numbers differ by at most one.
func TestAssignProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		partitions := rapid.IntRange(1, 20).Draw(t, "partitions")
		var all []int
		for p := range partitions {
			all = append(all, p)
		}
		var members []kafka.GroupMember
		born := 0
		generation := func() {
			owner := owners(members)
			plan := assign(members)
			taken := map[int]string{}
			for i := range members {
				m := &members[i]
				for _, p := range plan[m.ID] {
					if other, twice := taken[p]; twice {
						t.Fatalf("partition %d is assigned to %s and %s", p, other, m.ID)
					}
					if was, owned := owner[p]; owned && was != m.ID {
						t.Fatalf("partition %d of %s is assigned to %s", p, was, m.ID)
					}
					taken[p] = m.ID
				}
				m.Has = plan[m.ID]
			}
		}
		for range rapid.IntRange(1, 8).Draw(t, "changes") {
			if len(members) > 1 && rapid.Bool().Draw(t, "one dies") {
				i := rapid.IntRange(0, len(members)-1).Draw(t, "which")
				members = slices.Delete(members, i, i+1)
			} else {
				born++
				members = append(members, kafka.GroupMember{ID: fmt.Sprint("m", born), Can: all})
			}
			generation()
		}
		generation()
		before := fmt.Sprint(members)
		generation()
		if after := fmt.Sprint(members); after != before {
			t.Fatalf("not at rest: %s, then %s", before, after)
		}
		owned := 0
		for _, m := range members {
			owned += len(m.Has)
			if most := (partitions + len(members) - 1) / len(members); len(m.Has) > most {
				t.Fatalf("%s has %d of %d partitions among %d members", m.ID, len(m.Has), partitions, len(members))
			}
		}
		if owned != partitions {
			t.Fatalf("%d of %d partitions have an owner", owned, partitions)
		}
	})
}
