package httpapi

import "strings"

// token is a piece of SQL other than comments and white space.
type token struct {
	kind       tokenKind
	text       string // without the quotes if quoted
	start, end int    // byte range in the SQL, quotes included
	depth      int    // number of brackets around it
}

type tokenKind uint8

const (
	wordToken   tokenKind = iota // a keyword, a name, a number
	quotedToken                  // a name in backquotes or double quotes
	stringToken                  // a string literal
	otherToken                   // one byte of punctuation
)

func (t token) is(keyword string) bool {
	return t.kind == wordToken && strings.EqualFold(t.text, keyword)
}

// scanner splits SQL into tokens like the engine's lexer (ClickHouse,
// src/Parsers/Lexer.cpp), as far as needed to tell words from quoted text and
// comments. It accepts any input.
type scanner struct {
	sql   string
	at    int
	depth int
}

// quotes are the kinds of quotes that open a quoted token. Only ASCII quotes have escapes.
var quotes = []struct {
	open, closing string
	kind          tokenKind
	escapes       bool
}{
	{"'", "'", stringToken, true},
	{"`", "`", quotedToken, true},
	{`"`, `"`, quotedToken, true},
	{"‘", "’", stringToken, false},
	{"“", "”", quotedToken, false},
}

// next returns the next token; false at the end.
func (s *scanner) next() (token, bool) {
	s.skipBlank()
	if s.at == len(s.sql) {
		return token{}, false
	}
	start, rest := s.at, s.sql[s.at:]
	for _, q := range quotes {
		if strings.HasPrefix(rest, q.open) {
			n := quotedLength(rest[len(q.open):], q.closing, q.escapes)
			t := s.emit(q.kind, start, min(start+len(q.open)+n+len(q.closing), len(s.sql)))
			t.text = rest[len(q.open) : len(q.open)+n]
			return t, true
		}
	}
	if n := heredocLength(rest); n > 0 {
		return s.emit(stringToken, start, start+n), true
	}
	n := 0
	for n < len(rest) && isWordByte(rest[n]) {
		n++
	}
	if n > 0 {
		return s.emit(wordToken, start, start+n), true
	}
	t := s.emit(otherToken, start, start+1)
	switch rest[0] {
	case '(', '[', '{':
		s.depth++
	case ')', ']', '}':
		s.depth--
		t.depth--
	}
	return t, true
}

func (s *scanner) emit(kind tokenKind, start, end int) token {
	s.at = end
	return token{kind: kind, text: s.sql[start:end], start: start, end: end, depth: s.depth}
}

// skipBlank skips white space and comments. Outside quotes the engine knows no
// bytes above ASCII except unusual spaces and operators, so they count as
// blank.
func (s *scanner) skipBlank() {
	for s.at < len(s.sql) {
		rest := s.sql[s.at:]
		switch {
		case strings.HasPrefix(rest, "‘"), strings.HasPrefix(rest, "“"):
			return
		case strings.IndexByte(" \t\r\n\f\v\x00", rest[0]) >= 0, rest[0] >= 0x80:
			s.at++
		case strings.HasPrefix(rest, "--"), strings.HasPrefix(rest, "//"), strings.HasPrefix(rest, "# "), strings.HasPrefix(rest, "#!"):
			line, _, _ := strings.Cut(rest, "\n")
			s.at += len(line)
		case strings.HasPrefix(rest, "/*"):
			s.at += commentLength(rest)
		default:
			return
		}
	}
}

// quotedLength is the length of quoted text up to its closing quote, or to the
// end if there is none.
func quotedLength(text, closing string, escapes bool) int {
	for i := 0; i < len(text); {
		switch {
		case escapes && text[i] == '\\':
			i += 2
		case escapes && strings.HasPrefix(text[i:], closing+closing):
			i += 2 * len(closing)
		case strings.HasPrefix(text[i:], closing):
			return i
		default:
			i++
		}
	}
	return len(text)
}

// commentLength is the length of the comment at the start of text. Comments
// nest.
func commentLength(text string) int {
	nesting := 0
	for i := 0; i+1 < len(text); {
		switch text[i : i+2] {
		case "/*":
			nesting++
			i += 2
		case "*/":
			nesting--
			i += 2
			if nesting == 0 {
				return i
			}
		default:
			i++
		}
	}
	return len(text)
}

// heredocLength is the length of the heredoc, $tag$text$tag$, at the start of
// text, or 0.
func heredocLength(text string) int {
	if text[0] != '$' {
		return 0
	}
	tagEnd := strings.IndexByte(text[1:], '$')
	if tagEnd < 0 {
		return 0
	}
	mark := text[:tagEnd+2]
	end := strings.Index(text[len(mark):], mark)
	if end < 0 {
		return 0
	}
	return end + 2*len(mark)
}

func isWordByte(c byte) bool {
	return c == '_' || c == '$' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
