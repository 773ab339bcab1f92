package settings

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// faultPath matches the key at the start of an error; list elements may be followed by their names, as in "fabrics.0
// (ib0).interval".
var faultPath = regexp.MustCompile(`^[a-z0-9_]+(?:(?: \([^)]*\))?\.[a-z0-9_]+)*`)

// elementName matches such a name.
var elementName = regexp.MustCompile(` \([^)]*\)`)

// Located prefixes each error of a configuration with the source of its value: the variable, or the line of the file.
// A key missing in the file gets the line of its section.
func Located(err error, file Source, prefix string, environ []string) error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok && errors.Join(joined.Unwrap()...).Error() == err.Error() {
		var errs []error
		for _, e := range joined.Unwrap() {
			errs = append(errs, Located(e, file, prefix, environ))
		}
		return errors.Join(errs...)
	}
	path := elementName.ReplaceAllString(faultPath.FindString(err.Error()), "")
	if path == "" {
		return err
	}
	variable := Variable(prefix, path)
	if slices.ContainsFunc(environ, func(line string) bool { return strings.HasPrefix(line, variable+"=") }) {
		return fmt.Errorf("environment variable %s: %w", variable, err)
	}
	if line := lineOf(file.Text, strings.Split(path, ".")); line > 0 {
		return fmt.Errorf("%s:%d: %w", file.Name, line, err)
	}
	return err
}

// lineOf returns the line of a key, or of the innermost enclosing section in the text; 0 if there is none.
func lineOf(text []byte, path []string) (line int) {
	var doc yaml.Node
	if yaml.Unmarshal(text, &doc) != nil || len(doc.Content) == 0 {
		return 0
	}
	n := doc.Content[0]
	for _, key := range path {
		n = followed(n)
		var below *yaml.Node
		switch n.Kind {
		case yaml.MappingNode:
			for i := 0; i+1 < len(n.Content); i += 2 {
				if n.Content[i].Value == key {
					below, line = n.Content[i+1], n.Content[i].Line
				}
			}
		case yaml.SequenceNode:
			if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(n.Content) {
				below, line = n.Content[i], n.Content[i].Line
			}
		}
		if below == nil {
			return line
		}
		n = below
	}
	return line
}
