// Package plural words numbers of things for people: in go a number and the noun in both its forms, out comes
// "1 port" or "3 ports".
package plural

import "strconv"

// Count is a number and what it counts, in the form of the noun that fits.
func Count(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + several
}
