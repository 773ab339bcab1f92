package bench

import (
	"testing"
)

func TestExplore(t *testing.T) {
	for _, set := range Sets() {
		for _, k := range Kinds() {
			for seed := range int64(3) {
				in, err := set.Incident(k, seed)
				if err != nil {
					t.Error(err)
					continue
				}
				vs, err := in.Play(nobody{})
				if err != nil {
					t.Error(err)
					continue
				}
				count := map[string]int{}
				scored, roots := 0, 0
				for _, v := range vs {
					if v.Truth.Scored {
						scored++
						key := ""
						for _, c := range v.Truth.Classes {
							key += string(c) + "+"
						}
						count[key]++
						if len(v.Truth.Roots) > 0 {
							roots++
						}
					}
				}
				t.Logf("%-9s %-12s %d %-38s %3d regions %3d scored %3d rooted %v", set.Name, k, seed, in.Topology, len(vs), scored, roots, count)
			}
		}
	}
}
