package topology

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// numbered is a name as a number between two texts.
type numbered struct {
	before, after string
	width         int // of a number with leading zeros, otherwise 0
}

// maxRuns is the maximum number of runs of numbers in a list.
const maxRuns = 6

// list formats ascending numbers as one name, "leaf3,7,12-14", or, if that is too long, as their count and range: "17
// of leaf3-61".
func (n numbered) list(ns []int) string {
	runs := ranges(numbered{width: n.width}, ns)
	if len(runs) > maxRuns {
		return fmt.Sprintf("%d of %s", len(ns), n.span(ns[0], ns[len(ns)-1]))
	}
	return n.before + strings.Join(runs, ",") + n.after
}

// span formats the names from one number to another.
func (n numbered) span(from, to int) string {
	text := fmt.Sprintf("%s%0*d", n.before, n.width, from)
	if to > from {
		dash := "-"
		if strings.HasSuffix(n.before, "-") {
			dash = ".." // leaf3-0..7
		}
		text += fmt.Sprintf("%s%0*d", dash, n.width, to)
	}
	return text + n.after
}

// rangesOf combines names of one kind to ranges of their last number.
func rangesOf(names []string) (out []string) {
	numbers := map[numbered][]int{}
	var shapes []numbered
	split, of := splitNumbers(names)
	for i, shape := range split {
		number := of[i]
		if _, known := numbers[shape]; !known {
			shapes = append(shapes, shape)
		}
		numbers[shape] = append(numbers[shape], number)
	}
	slices.SortFunc(shapes, func(a, b numbered) int {
		return cmp.Or(cmp.Compare(a.before, b.before), cmp.Compare(a.after, b.after), cmp.Compare(a.width, b.width))
	})
	for _, shape := range shapes {
		ns := numbers[shape]
		slices.Sort(ns)
		if ns[0] < 0 {
			out = append(out, shape.before)
			continue
		}
		out = append(out, ranges(shape, ns)...)
	}
	return out
}

// ranges formats ascending numbers of a name, combining runs.
func ranges(name numbered, ns []int) (out []string) {
	for len(ns) > 0 {
		n := 1
		for n < len(ns) && ns[n] == ns[n-1]+1 {
			n++
		}
		out, ns = append(out, name.span(ns[0], ns[n-1])), ns[n:]
	}
	return out
}

// splitNumbers splits names. Where some have leading zeros, as leaf08 and leaf09, a number that has as many digits without, as
// leaf10, is one of theirs.
func splitNumbers(names []string) (shapes []numbered, numbers []int) {
	type text struct{ before, after string }
	padded := map[text]int{} // width
	for _, name := range names {
		shape, number := splitNumber(name)
		shapes, numbers = append(shapes, shape), append(numbers, number)
		if shape.width > 0 {
			padded[text{shape.before, shape.after}] = shape.width
		}
	}
	for i := range shapes {
		s := &shapes[i]
		if width := padded[text{s.before, s.after}]; s.width == 0 && numbers[i] >= 0 && len(strconv.Itoa(numbers[i])) == width {
			s.width = width
		}
	}
	return shapes, numbers
}

// splitNumber splits "leaf12" into "leaf" and 12, and "MF0;CSPINE4-61:MQM8700/U1" before the vendor's suffix after
// the colon; the number is -1 if there is none.
func splitNumber(name string) (numbered, int) {
	own, after := name, ""
	if i := strings.IndexByte(name, ':'); i >= 0 {
		own, after = name[:i], name[i:]
	}
	i := len(own)
	for i > 0 && own[i-1] >= '0' && own[i-1] <= '9' {
		i--
	}
	n, err := strconv.Atoi(own[i:])
	if err != nil {
		return numbered{before: name}, -1
	}
	width := 0
	if own[i] == '0' && i < len(own)-1 {
		width = len(own) - i
	}
	return numbered{own[:i], after, width}, n
}
