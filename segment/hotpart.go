package segment

import "slices"

// hotPart is the part of a fabric that is worth a closer look: hot links that are
// not alone nor in calm surroundings, and measured links among mostly hot ones.
// Work on it costs by its size, not the fabric's.
type hotPart struct {
	adj *adjacency

	links  []int32 // of the hot part, ascending
	places []int32 // where they are: switches, ascending; one stands for all that missing links make one

	place   []int32 // by switch: the switch that stands for it
	off     []int32 // by switch + 1: see at
	members []int32 // see at
	calm    []int32 // by place: measured links that are not of the hot part
	filled  []int32
	gaps    []int32   // missing links
	missing []int32   // by switch: missing links
	heat    []int32   // by switch: hot links
	bridged unionFind // switches
	bridges []int32   // by switch: missing links that make it one with others
}

// leastHeat is how many hot links a switch needs to be called mostly hot.
const leastHeat = 3

// maxBridges bounds how many missing links make one place of many switches: two
// blades of a Gemini torus may be out, not a quarter of the machine.
const maxBridges = 32

func newHotPart(adj *adjacency) hotPart {
	n := adj.numSwitches()
	return hotPart{
		adj: adj, place: make([]int32, n), off: make([]int32, n+2), calm: make([]int32, n),
		missing: make([]int32, n), heat: make([]int32, n), bridges: make([]int32, n),
	}
}

// find looks for hot links, if together without those that are alone or in calm
// surroundings.
func (h *hotPart) find(values []float32, mark marks, together bool) {
	h.links, h.gaps = h.links[:0], h.gaps[:0]
	for l, v := range values {
		if v >= mark.hot {
			h.links = append(h.links, int32(l))
		} else if v == missing {
			h.gaps = append(h.gaps, int32(l))
		}
	}
	if len(h.links) == 0 {
		return
	}
	if together {
		h.dropWeak(values, mark)
	}
	h.bridge()
	h.fill(values, mark.hot)
	if together {
		h.dropAlone()
	}
	h.merge()
	h.gather(values)
}

// dropWeak leaves out links that are hardly hot and calm around: the halo of a
// region, of which noise lifts every other link, would make it ragged.
func (h *hotPart) dropWeak(values []float32, mark marks) {
	const unknown, warm, calm = 0, 1, 2
	clear(h.calm) // for a moment: what is known of a switch
	h.links = slices.DeleteFunc(h.links, func(l int32) bool {
		if values[l] >= mark.strong {
			return false
		}
		for _, s := range h.adj.ends[l] {
			if s == noSwitch {
				continue
			}
			if h.calm[s] == unknown {
				h.calm[s] = calm
				if h.isWarm(s, values, mark) {
					h.calm[s] = warm
				}
			}
			if h.calm[s] == warm {
				return false
			}
		}
		return true
	})
}

// isWarm reports whether the mean at a switch is high, strong links not counted for
// more than that. It is a mean of whole numbers, which has no order.
func (h *hotPart) isWarm(s int32, values []float32, mark marks) bool {
	sum, measured := 0, 0
	for _, l := range h.adj.links(s) {
		if v := values[l]; v != missing {
			sum += int(min(v, mark.strong) * binsPerPoint)
			measured++
		}
	}
	return sum >= int(mark.warm*binsPerPoint)*measured
}

// bridge makes one place of switches that missing links join.
func (h *hotPart) bridge() {
	clear(h.missing)
	clear(h.bridges)
	h.bridged.reset(h.adj.numSwitches())
	for _, l := range h.gaps {
		a, b := h.adj.ends[l][0], h.adj.ends[l][1]
		if a != noSwitch {
			h.missing[a]++
		}
		if b != noSwitch {
			h.missing[b]++
			h.bridged.union(a, b)
		}
	}
	for _, l := range h.gaps {
		if a, b := h.adj.ends[l][0], h.adj.ends[l][1]; b != noSwitch {
			h.bridges[h.bridged.find(a)]++
		}
	}
	for s := range h.place {
		h.place[s] = int32(s)
	}
	for _, l := range h.gaps {
		for _, s := range h.adj.ends[l] {
			if s == noSwitch {
				continue
			}
			if root := h.bridged.find(s); h.bridges[root] <= maxBridges {
				h.place[s] = root
			}
		}
	}
}

// fill finds calm links of which both switches are mostly hot.
func (h *hotPart) fill(values []float32, threshold float32) {
	clear(h.heat)
	for _, l := range h.links {
		for _, s := range h.adj.ends[l] {
			if s != noSwitch {
				h.heat[s]++
			}
		}
	}
	h.filled = h.filled[:0]
	for s := range int32(len(h.heat)) {
		if !h.mostlyHot(s) {
			continue
		}
		for _, l := range h.adj.links(s) {
			far := h.adj.far(l, s)
			if v := values[l]; v != missing && v < threshold && (far == noSwitch || far > s && h.mostlyHot(far)) {
				h.filled = append(h.filled, l)
			}
		}
	}
	slices.Sort(h.filled)
}

func (h *hotPart) mostlyHot(s int32) bool {
	return h.heat[s] >= leastHeat && 2*h.heat[s] > int32(len(h.adj.links(s)))-h.missing[s]
}

// dropAlone leaves out hot links that share no place with another.
func (h *hotPart) dropAlone() {
	clear(h.calm) // for a moment: hot links by place
	for _, l := range h.links {
		a, b := h.placesOf(l)
		for _, p := range [2]int32{a, b} {
			if p != noSwitch {
				h.calm[p]++
			}
		}
	}
	h.links = slices.DeleteFunc(h.links, func(l int32) bool {
		a, b := h.placesOf(l)
		return (a == noSwitch || h.calm[a] < 2) && (b == noSwitch || h.calm[b] < 2)
	})
}

// merge adds the filled links.
func (h *hotPart) merge() {
	i, j := len(h.links)-1, len(h.filled)-1
	h.links = append(h.links, h.filled...)
	for k := len(h.links) - 1; j >= 0; k-- {
		if i >= 0 && h.links[i] > h.filled[j] {
			h.links[k] = h.links[i]
			i--
		} else {
			h.links[k] = h.filled[j]
			j--
		}
	}
}

// gather lists the links of the hot part by place, and counts the others there.
func (h *hotPart) gather(values []float32) {
	clear(h.off)
	for _, l := range h.links {
		a, b := h.placesOf(l)
		for _, p := range [2]int32{a, b} {
			if p != noSwitch {
				h.off[p+2]++
			}
		}
	}
	clear(h.calm)
	h.places = h.places[:0]
	for s, p := range h.place {
		if h.off[p+2] == 0 {
			continue // calm all over
		}
		h.calm[p] += int32(len(h.adj.links(int32(s)))) - h.missing[s]
		if h.missing[s] > 0 {
			h.calm[p] -= h.within(int32(s), values)
		}
	}
	for s := range h.place {
		if n := h.off[s+2]; n > 0 {
			h.places = append(h.places, int32(s))
			h.calm[s] -= n
		}
		h.off[s+2] += h.off[s+1]
	}
	h.members = resize(h.members, int(h.off[len(h.off)-1]))
	for i, l := range h.links {
		a, b := h.placesOf(l)
		for _, p := range [2]int32{a, b} {
			if p != noSwitch {
				h.members[h.off[p+1]] = int32(i)
				h.off[p+1]++
			}
		}
	}
}

// within counts the measured links from a switch to later ones of its place,
// which are there once.
func (h *hotPart) within(s int32, values []float32) (n int32) {
	for _, l := range h.adj.links(s) {
		if far := h.adj.far(l, s); far > s && h.place[far] == h.place[s] && values[l] != missing {
			n++
		}
	}
	return n
}

// placesOf are the places where a link is, or noSwitch.
func (h *hotPart) placesOf(l int32) (a, b int32) {
	e := h.adj.ends[l]
	if e[0] == noSwitch {
		return noSwitch, noSwitch
	}
	a = h.place[e[0]]
	if e[1] == noSwitch || h.place[e[1]] == a {
		return a, noSwitch
	}
	return a, h.place[e[1]]
}

// at lists the links of the hot part at a place, by their place in links.
func (h *hotPart) at(p int32) []int32 { return h.members[h.off[p]:h.off[p+1]] }
