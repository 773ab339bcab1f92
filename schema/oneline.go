package schema

import (
	"strings"
	"unicode"
)

// OneLine is a text as it can be printed on a terminal and pasted into a ticket: what does not print, such as
// escapes and line ends in the names that users give their jobs, becomes a question mark.
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

// isPlain reports whether a text is of printable ASCII alone, as nearly all are.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' {
			return false
		}
	}
	return true
}
