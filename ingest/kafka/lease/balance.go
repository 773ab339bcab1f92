package lease

import (
	"cmp"
	"maps"
	"slices"

	"github.com/giverny/giverny/ingest/kafka"
)

// assign shares the partitions out to the members of a generation: sticky, so that no more move than must, and
// level, so that where all can own all no member has two more than another. It is cooperative: a partition that
// a member still owns and that is to move stays unassigned in this generation; its owner gives it back and joins
// again, and then it is assigned. So a partition never has two owners.
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

// owners are the members that own partitions, by partition.
func owners(members []kafka.GroupMember) map[int]string {
	owner := map[int]string{}
	for _, m := range members {
		for _, partition := range m.Has {
			owner[partition] = m.ID
		}
	}
	return owner
}

// level is who shall own each partition in the end: its owner, or the one with the fewest, and then from the
// one with the most to the one with the fewest until no move makes it more even.
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
	for moved := true; moved; { // ends: each move makes the sum of the squares of the loads smaller
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

// most is the greatest load among those that could give a partition to a member.
func most(load map[string]int, target map[int]string, can map[int][]string, to string) (n int) {
	for partition, from := range target {
		if slices.Contains(can[partition], to) {
			n = max(n, load[from])
		}
	}
	return n
}
