// Package sqlquote quotes what stands in the text of a statement for ClickHouse, where a parameter cannot stand.
package sqlquote

import "strings"

var (
	nameEscaper = strings.NewReplacer(`\`, `\\`, "`", "\\`")
	textEscaper = strings.NewReplacer(`\`, `\\`, `'`, `\'`)
)

// Name quotes an identifier.
func Name(name string) string { return "`" + nameEscaper.Replace(name) + "`" }

// Text quotes a string.
func Text(text string) string { return "'" + textEscaper.Replace(text) + "'" }
