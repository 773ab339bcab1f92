// Package plural formats counts and lists for people: "1 port" or "3 ports", from a number and both forms of the noun;
// "a, b, and 3 more".
package plural

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Count formats a number with the matching form of the noun.
func Count(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + several
}

// First joins the first parts, at most so many, and says how many more there are.
func First(parts []string, most int, separator string) string {
	if more := len(parts) - most; more > 0 {
		parts = append(slices.Clone(parts[:most]), fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, separator)
}
