// Package plural formats counts for people: "1 port" or "3 ports", from a number and both forms of the noun.
package plural

import "strconv"

// Count formats a number with the matching form of the noun.
func Count(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + several
}
