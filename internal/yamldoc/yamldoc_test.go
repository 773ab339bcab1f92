package yamldoc_test

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/giverny/giverny/internal/yamldoc"
)

func TestEnd(t *testing.T) {
	const advice = "keep the first"
	for text, whole := range map[string]bool{
		"a: 1\n":               true,
		"---\na: 1\n...\n":     true,
		"a: 1\n# the end\n":    true,
		"a: 1\n---\nb: 2\n":    false,
		"a: 1\n---\nb: [\n":    false, // unparsable text is not ignored either
		"a: 1\n...\n---\n{}\n": false,
	} {
		in := yaml.NewDecoder(strings.NewReader(text))
		if err := in.Decode(new(map[string]int)); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		err := yamldoc.End(in, advice)
		if whole && err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if !whole && (err == nil || !strings.HasSuffix(err.Error(), "more than one YAML document; "+advice)) {
			t.Errorf("%q: %v, want the advice", text, err)
		}
	}
}
