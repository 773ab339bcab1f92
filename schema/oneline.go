package schema

import (
	"strings"
	"unicode"
)

// OneLine makes a text safe to print on a terminal and paste into a ticket: it replaces non-printable
// characters, such as escapes and line ends in the names that users give their jobs, by question marks.
func OneLine(text string) string {
	if isPlain(text) {
		return text
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, text)
}

// isPlain reports whether a text consists of printable ASCII, as nearly all do.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' {
			return false
		}
	}
	return true
}
