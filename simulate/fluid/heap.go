package fluid

// share is the rate that each flow left on a resource could have.
type share struct {
	perFlow float64
	res     Resource
}

// less orders by share; the number breaks ties, so that results do not depend
// on the order of insertion.
func (a share) less(b share) bool {
	return a.perFlow < b.perFlow || a.perFlow == b.perFlow && a.res < b.res
}

// shareHeap is a binary heap, smallest first.
type shareHeap []share

func (h *shareHeap) push(x share) {
	*h = append(*h, x)
	a := *h
	i := len(a) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !x.less(a[parent]) {
			break
		}
		a[i] = a[parent]
		i = parent
	}
	a[i] = x
}

func (h *shareHeap) pop() share {
	a := *h
	top, x := a[0], a[len(a)-1]
	a = a[:len(a)-1]
	*h = a
	for i := 0; ; {
		child := 2*i + 1
		if child >= len(a) {
			if len(a) > 0 {
				a[i] = x
			}
			return top
		}
		if child+1 < len(a) && a[child+1].less(a[child]) {
			child++
		}
		if !a[child].less(x) {
			a[i] = x
			return top
		}
		a[i] = a[child]
		i = child
	}
}
