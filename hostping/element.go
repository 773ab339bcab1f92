package hostping

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Limits of a description: a real one of 256 cores has 2 MB and a depth of 25.
const (
	maxTextBytes  = 16 << 20
	maxXMLDepth   = 100
	maxXMLObjects = 200_000
)

// element is an XML element.
type element struct {
	name     string
	line     int
	attrs    map[string]string
	text     string
	children []*element
}

func (e *element) attr(name string) string { return e.attrs[name] }

// each visits an element and all its descendants, with their ancestors, nearest last.
func (e *element) each(above []*element, visit func(e *element, above []*element)) {
	visit(e, above)
	above = append(above, e)
	for _, child := range e.children {
		child.each(above, visit)
	}
}

// fault is an error at a line.
type fault struct {
	line int
	err  error
}

func (f *fault) Error() string { return fmt.Sprintf("%d: %v", f.line, f.err) }
func (f *fault) Unwrap() error { return f.err }

// parseXML parses a document. It expands only XML's five predefined entities, rejects documents that declare others,
// and bounds depth and size.
func parseXML(text []byte) (*element, error) {
	d := xml.NewDecoder(bytes.NewReader(text))
	d.CharsetReader = func(charset string, _ io.Reader) (io.Reader, error) {
		return nil, fmt.Errorf("encoding %q: want UTF-8", charset)
	}
	var root *element
	var open []*element
	objects := 0
	fail := func(format string, args ...any) (*element, error) {
		line, _ := d.InputPos()
		return nil, &fault{line, fmt.Errorf(format, args...)}
	}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) && root != nil && len(open) == 0 {
			return root, nil
		}
		if err != nil {
			return fail("%w", syntaxError(err, root, open))
		}
		switch t := token.(type) {
		case xml.Directive:
			if bytes.ContainsAny(t, "[") || bytes.Contains(t, []byte("ENTITY")) {
				return fail("the document declares entities, which is not supported")
			}
		case xml.StartElement:
			if objects++; objects > maxXMLObjects || len(open) == maxXMLDepth {
				return fail("more than %d elements, or nested deeper than %d", maxXMLObjects, maxXMLDepth)
			}
			line, _ := d.InputPos()
			e := &element{name: t.Name.Local, line: line, attrs: map[string]string{}}
			for _, a := range t.Attr {
				e.attrs[a.Name.Local] = a.Value
			}
			switch {
			case len(open) > 0:
				parent := open[len(open)-1]
				parent.children = append(parent.children, e)
			case root != nil:
				return fail("a second root <%s>; want one document", e.name)
			default:
				root = e
			}
			open = append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 {
				open[len(open)-1].text += strings.TrimSpace(string(t))
			}
		}
	}
}

// syntaxError adds the remedy to a decoder error.
func syntaxError(err error, root *element, open []*element) error {
	var syntax *xml.SyntaxError
	switch {
	case errors.Is(err, io.EOF) && root == nil:
		return errors.New("no XML element; regenerate the file")
	case errors.As(err, &syntax) && strings.Contains(syntax.Msg, "unexpected EOF"), errors.Is(err, io.EOF):
		return fmt.Errorf("the file is truncated inside <%s>; regenerate it", openName(open))
	case errors.As(err, &syntax):
		return fmt.Errorf("%s; regenerate the file", syntax.Msg)
	}
	return err
}

func openName(open []*element) string {
	if len(open) == 0 {
		return "?"
	}
	return open[len(open)-1].name
}
