package lease

import (
	"cmp"
	"maps"
	"slices"

	"github.com/giverny/giverny/ingest/kafka"
)

// assign distributes the partitions over the members of a generation. It is sticky: only as many partitions move
// as must. It is balanced: if all members can own all partitions, their numbers differ by at most one. It is
// cooperative: a partition that has to move from its owner stays unassigned in this generation; it is assigned
// when its owner has given it back and rejoined. So a partition never has two owners.
func assign(members []kafka.GroupMember) map[string][]int {
	owner := owners(members)
	target := level(members, owner)
	plan := make(map[string][]int, len(members))
	for _, m := range members {
		plan[m.ID] = []int{}
	}
	for _, partition := range slices.Sorted(maps.Keys(target)) {
		id := target[partition]
		if was, owned := owner[partition]; !owned || was == id {
			plan[id] = append(plan[id], partition)
		}
	}
	return plan
}

// owners returns the owner of each owned partition.
func owners(members []kafka.GroupMember) map[int]string {
	owner := map[int]string{}
	for _, m := range members {
		for _, partition := range m.Has {
			owner[partition] = m.ID
		}
	}
	return owner
}

// level returns the desired owner of each partition: its current owner, or the member with the fewest; then
// partitions move from the member with the most to the one with the fewest until no move improves the
// balance.
func level(members []kafka.GroupMember, owner map[int]string) map[int]string {
	can := map[int][]string{} // who can own a partition
	load := map[string]int{}
	for _, m := range members {
		load[m.ID] = 0
		for _, partition := range m.Can {
			can[partition] = append(can[partition], m.ID)
		}
	}
	target := map[int]string{}
	partitions := slices.Sorted(maps.Keys(can))
	for _, partition := range partitions {
		if id := owner[partition]; slices.Contains(can[partition], id) {
			target[partition] = id
			load[id]++
		}
	}
	fewest := func(ids []string) string {
		return slices.MinFunc(ids, func(a, b string) int { return cmp.Or(load[a]-load[b], cmp.Compare(a, b)) })
	}
	for _, partition := range partitions {
		if _, has := target[partition]; !has {
			id := fewest(can[partition])
			target[partition] = id
			load[id]++
		}
	}
	for moved := true; moved; { // terminates: each move reduces the sum of the squared loads
		moved = false
		for _, partition := range partitions {
			from, to := target[partition], fewest(can[partition])
			if load[from]-load[to] < 2 || load[from] < most(load, target, can, to) {
				continue
			}
			target[partition] = to
			load[from]--
			load[to]++
			moved = true
		}
	}
	return target
}

// most returns the largest load among the owners of partitions that a member can own.
func most(load map[string]int, target map[int]string, can map[int][]string, to string) (n int) {
	for partition, from := range target {
		if slices.Contains(can[partition], to) {
			n = max(n, load[from])
		}
	}
	return n
}
