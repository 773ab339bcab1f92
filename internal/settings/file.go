package settings

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/giverny/giverny/internal/yamldoc"
)

// Source is a YAML text with its name in messages.
type Source struct {
	Name string
	Text []byte
}

// File overlays a YAML text on into, a pointer to a struct. All errors are joined.
func File(into any, file Source, moved Moved) error {
	var doc yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(file.Text))
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil
	} else if err != nil {
		return fmt.Errorf("%s: %w", file.Name, err)
	}
	if err := yamldoc.End(dec, "keep the first"); err != nil {
		return fmt.Errorf("%s: %w", file.Name, err)
	}
	r := reader{file: file.Name, moved: moved}
	r.section(doc.Content[0], reflect.ValueOf(into).Elem(), "")
	return errors.Join(r.errs...)
}

// reader overlays YAML nodes on values.
type reader struct {
	file  string
	moved Moved
	errs  []error
}

func (r *reader) bad(n *yaml.Node, format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf("%s:%d: %w", r.file, n.Line, fmt.Errorf(format, args...)))
}

// section overlays a mapping; path is the prefix of its keys, with a trailing dot.
func (r *reader) section(n *yaml.Node, v reflect.Value, path string) {
	n = followed(n)
	fields := Fields(v)
	if isNull(n) {
		return
	}
	if n.Kind != yaml.MappingNode {
		r.bad(n, "%s: want nested keys%s", trimmed(path), suggestion(n.Value, names(fields)))
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if seen[key.Value] {
			r.bad(key, "key %q is duplicated", path+key.Value)
			continue
		}
		seen[key.Value] = true
		if f, ok := find(fields, key.Value); ok {
			r.field(n.Content[i+1], f, path+key.Value)
		} else if now := r.moved.of(path + key.Value); now != "" {
			r.bad(key, "key %q is now %q", path+key.Value, now)
		} else {
			r.bad(key, "unknown key %q%s", path+key.Value, suggestion(key.Value, names(fields)))
		}
	}
}

func (r *reader) field(n *yaml.Node, f Field, path string) {
	switch t := f.Value.Type(); {
	case IsSection(t):
		r.section(n, f.Value, path+".")
	case IsSectionList(t):
		r.list(n, f.Value, path)
	default:
		if err := decode(n, f.Value); err != nil {
			r.bad(n, "%s: %w", path, err)
		}
	}
}

func (r *reader) list(n *yaml.Node, v reflect.Value, path string) {
	n = followed(n)
	v.SetZero()
	if isNull(n) {
		return
	}
	if n.Kind != yaml.SequenceNode {
		r.bad(n, "%s: want a list, each entry after a hyphen", path)
		return
	}
	for i, entry := range n.Content {
		v.Set(reflect.Append(v, newElement(v.Type())))
		r.section(entry, v.Index(i), path+"."+strconv.Itoa(i)+".")
	}
}

// decode overlays a node on a value that is not a section.
func decode(n *yaml.Node, v reflect.Value) error {
	n = followed(n)
	_, isText := v.Addr().Interface().(encoding.TextUnmarshaler)
	if isText && n.Kind != yaml.ScalarNode { // yaml would decode into the fields, which are unexported in a secret
		return errors.New("a list or nested keys: want a text")
	}
	if (v.CanInt() || v.CanUint()) && !isText && hasFraction(n) { // yaml would cut it off
		return fmt.Errorf("%s: want %s", shown(n), wanted(v.Type()))
	}
	err := n.Decode(v.Addr().Interface())
	var mistyped *yaml.TypeError
	if errors.As(err, &mistyped) && !isText {
		return fmt.Errorf("%s: want %s", shown(n), wanted(v.Type()))
	}
	return err
}

// hasFraction reports whether a scalar is a number that is not whole; 1e9 is.
func hasFraction(n *yaml.Node) bool {
	if n.ShortTag() != "!!float" {
		return false
	}
	f, err := strconv.ParseFloat(n.Value, 64)
	return err != nil || f != math.Trunc(f)
}

// shown returns a value as spelled in the file.
func shown(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode {
		return strconv.Quote(n.Value)
	}
	n.Style = yaml.FlowStyle
	text, err := yaml.Marshal(n)
	if err != nil {
		return "this"
	}
	return string(bytes.TrimSpace(text))
}

func followed(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

func trimmed(path string) string {
	if path == "" {
		return "the file"
	}
	return path[:len(path)-1]
}
