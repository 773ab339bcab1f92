package importrules

import (
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
)

// impureImports give a package I/O, a clock, a logger or global state. A trailing "/..." covers all packages below.
var impureImports = []string{
	"context", "crypto/rand", "log/...", "net/...", "os/...", "runtime/...", "syscall",
	"github.com/prometheus/client_golang/...",
}

// clockCalls of package time read or wait for the wall clock; its types and constants are values.
var clockCalls = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

// seeded are the names of math/rand and math/rand/v2 for using one's own source; all others use the global source.
var seeded = []string{
	"New", "NewSource", "NewZipf", "NewPCG", "NewChaCha8", "Rand", "Source", "Source64", "Zipf", "PCG", "ChaCha8",
}

// pureFaults checks the packages shared by live, replayed and simulated runs: values in, values out, no
// goroutine, logger, context, wall clock, global random source, file or network. Tests are exempt.
func pureFaults(m *Module, table []Row) []string {
	var faults []string
	for pkg, file := range m.files() {
		if row := rowOf(table, pkg); row != nil && row.Kind == Pure && !file.IsTest {
			faults = append(faults, impurities(m, pkg, file)...)
		}
	}
	return faults
}

func impurities(m *Module, pkg string, file File) []string {
	var faults []string
	report := func(node ast.Node, what string) {
		faults = append(faults, fmt.Sprintf("%s: %s is pure but %s", m.position(node), pkg, what))
	}
	names := map[string]string{} // local name of an import -> its path
	for _, spec := range file.Syntax.Imports {
		imported := importPath(spec)
		names[localName(spec)] = imported
		if slices.ContainsFunc(impureImports, func(pattern string) bool { return matches(pattern, imported) }) {
			report(spec, "imports "+imported)
		}
	}
	ast.Inspect(file.Syntax, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.GoStmt:
			report(node, "starts a goroutine")
		case *ast.SelectorExpr:
			if base, ok := node.X.(*ast.Ident); ok && impureName(names[base.Name], node.Sel.Name) {
				report(node, "uses "+names[base.Name]+"."+node.Sel.Name)
			}
		}
		return true
	})
	return faults
}

func impureName(imported, name string) bool {
	switch imported {
	case "time":
		return slices.Contains(clockCalls, name)
	case "math/rand", "math/rand/v2":
		return !slices.Contains(seeded, name)
	}
	return false
}

var majorVersion = regexp.MustCompile(`^v\d+$`)

// localName is the name of an import within a file; without an explicit name it is the last element of
// the path, which is right for the standard library.
func localName(spec *ast.ImportSpec) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	imported := importPath(spec)
	if base := path.Base(imported); !majorVersion.MatchString(base) {
		return strings.TrimSuffix(base, ".go")
	}
	return path.Base(path.Dir(imported))
}
