package schema

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// EventKinds has every constant of the type but those of diagnoses only.
func TestEventKindsAreComplete(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "event.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || len(spec.Values) == 0 {
			return true
		}
		text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		n++
		if listed := slices.Contains(EventKinds(), EventKind(text)); listed == strings.HasSuffix(text, "_suspected") {
			t.Errorf("%s is among the kinds of events: %v", text, listed)
		}
		return true
	})
	if n != len(EventKinds())+2 {
		t.Errorf("%d constants, %d kinds of events", n, len(EventKinds()))
	}
}
