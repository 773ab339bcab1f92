package index_test

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestIndicesAreOfTheirKind checks every index of an index.By[K, V] of the tree method: it is a K, a constant, or the key of a range
// over another By[K, V]. The compiler would take any integer. It also checks that it finds indices of another kind.
func TestIndicesAreOfTheirKind(t *testing.T) {
	set := token.NewFileSet()
	imports := importer.ForCompiler(set, "source", nil)
	checked := 0
	for _, dir := range []string{"..", "../backpressure", "../layers", "../spines"} {
		n, faults := checkIndices(t, set, imports, parsePackage(t, set, dir))
		for _, fault := range faults {
			t.Error(fault)
		}
		checked += n
	}
	if checked < 1000 {
		t.Errorf("only %d indices seen", checked)
	}
	wrong, err := parser.ParseFile(set, "wrong.go", `package trees
		import "github.com/giverny/giverny/segment/trees/index"
		func wrong(t *trees, l index.Link) (sum float64) {
			for k := range t.Values {
				sum += t.Stall[k] + t.Stall[l] + t.Stall[t.Node[l]]
			}
			return sum
		}`, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if _, found := checkIndices(t, set, imports, append(parsePackage(t, set, ".."), wrong)); len(found) != 2 {
		t.Errorf("found %d of 2 wrong indices: %v", len(found), found)
	}
}

// parsePackage parses a package without its tests.
func parsePackage(t *testing.T, set *token.FileSet, dir string) (files []*ast.File) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, filepath.Join(dir, e.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// checkIndices counts the indices of By[K, V] in some files, and lists those that are of another kind.
func checkIndices(t *testing.T, set *token.FileSet, imports types.Importer, files []*ast.File) (checked int, faults []string) {
	t.Helper()
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: imports}
	if _, err := config.Check("trees", set, files, info); err != nil {
		t.Fatal(err)
	}
	keys := map[types.Object]types.Type{} // of ranges over a By[K, V]: its K
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.RangeStmt:
				if key, ok := n.Key.(*ast.Ident); ok && kindOf(info.TypeOf(n.X)) != nil {
					keys[info.Defs[key]] = kindOf(info.TypeOf(n.X))
				}
			case *ast.IndexExpr:
				kind := kindOf(info.TypeOf(n.X))
				if kind == nil {
					return true
				}
				checked++
				if index := info.Types[n.Index]; index.Value == nil && !types.Identical(index.Type, kind) && !isKey(info, keys, n.Index, kind) {
					faults = append(faults, fmt.Sprintf("%s: index is of type %s, not %s", set.Position(n.Pos()), index.Type, kind))
				}
			}
			return true
		})
	}
	return checked, faults
}

// isKey reports whether an index is the key of a range over elements of a kind.
func isKey(info *types.Info, keys map[types.Object]types.Type, index ast.Expr, kind types.Type) bool {
	name, ok := index.(*ast.Ident)
	return ok && keys[info.Uses[name]] != nil && types.Identical(keys[info.Uses[name]], kind)
}

// kindOf is K if a type is By[K, V], else nil.
func kindOf(typ types.Type) types.Type {
	named, ok := types.Unalias(typ).(*types.Named)
	if !ok || named.Obj().Name() != "By" {
		return nil
	}
	return named.TypeArgs().At(0)
}
