package slurm

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// nodeName matches names that are safe in a host list: they start with a letter or
// digit, so are no option, and contain no character that is special there (comma,
// brackets) or between arguments (blank, line break, =).
var nodeName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,252}$`)

// maxDigits bounds the numbers that are folded into ranges.
const maxDigits = 9

// numbered is a name that ends in a number.
type numbered struct {
	prefix string
	number int
	width  int
}

// compress folds valid names into a Slurm host list such as n[1-3,7],login. Names with
// equal prefixes and numbers of equal width are folded. The result does not depend on
// the order of the names.
func compress(names []string) string {
	groups := map[string][]numbered{}
	var alone []string
	for _, name := range names {
		digits := len(name) - len(strings.TrimRight(name, "0123456789"))
		if digits == 0 || digits > maxDigits {
			alone = append(alone, name)
			continue
		}
		prefix := name[:len(name)-digits]
		number, err := strconv.Atoi(name[len(prefix):])
		if err != nil { // cannot fail: digits only
			panic("slurm: " + err.Error())
		}
		width := digits
		if name[len(prefix)] != '0' || digits == 1 { // 9 and 10 share a range if they have no leading zeros
			width = 0
		}
		key := fmt.Sprintf("%s\x00%d", prefix, width)
		groups[key] = append(groups[key], numbered{prefix, number, width})
	}
	parts := slices.Compact(slices.Sorted(slices.Values(alone)))
	keys := make([]string, 0, len(groups))
	for key := range groups {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		parts = append(parts, fold(groups[key]))
	}
	return strings.Join(parts, ",")
}

// fold folds names of one prefix and width.
func fold(names []numbered) string {
	slices.SortFunc(names, func(a, b numbered) int { return cmp.Compare(a.number, b.number) })
	names = slices.Compact(names)
	text := func(n numbered) string { return fmt.Sprintf("%0*d", n.width, n.number) }
	var ranges []string
	for i := 0; i < len(names); {
		last := i
		for last+1 < len(names) && names[last+1].number == names[last].number+1 {
			last++
		}
		r := text(names[i])
		if last > i {
			r += "-" + text(names[last])
		}
		ranges = append(ranges, r)
		i = last + 1
	}
	if len(names) == 1 {
		return names[0].prefix + ranges[0]
	}
	return names[0].prefix + "[" + strings.Join(ranges, ",") + "]"
}
