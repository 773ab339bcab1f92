package importrules

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// matches reports whether a pattern of the table, a path, "x/..." or "...", covers a package.
func matches(pattern, pkg string) bool {
	folder, below := strings.CutSuffix(pattern, "/...")
	return pattern == "..." || pkg == folder || below && strings.HasPrefix(pkg, folder+"/")
}

// rowOf returns the row with the package's own name or else that of the nearest folder; nil if there is none.
func rowOf(table []Row, pkg string) *Row {
	var best *Row
	for i := range table {
		row := &table[i]
		switch {
		case row.Package == pkg:
			return row
		case matches(row.Package, pkg) && (best == nil || len(row.Package) > len(best.Package)):
			best = row
		}
	}
	return best
}

// tableFaults compares the table with the existing packages, and every import with the table.
func tableFaults(m *Module, table []Row) []string {
	var faults []string
	for _, row := range table {
		covers := func(pkg string) bool { return rowOf(table, pkg) != nil && rowOf(table, pkg).Package == row.Package }
		if !slices.ContainsFunc(slices.Collect(maps.Keys(m.Packages)), covers) {
			faults = append(faults, fmt.Sprintf("the table has a row for %s, which has no Go file: remove the row", row.Package))
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(m.Packages)) {
		row := rowOf(table, pkg)
		if row == nil {
			faults = append(faults, fmt.Sprintf("package %s has no row in the table: say what it may import", pkg))
			continue
		}
		faults = append(faults, importFaults(m, table, m.Packages[pkg], row)...)
	}
	return faults
}

func importFaults(m *Module, table []Row, pkg *Package, row *Row) []string {
	var faults []string
	for _, file := range pkg.Files {
		for _, spec := range file.Syntax.Imports {
			imported, inside := m.local(importPath(spec))
			if !inside || allowed(table, pkg.Path, row, imported, file.IsTest) {
				continue
			}
			faults = append(faults, fmt.Sprintf("%s: %s may not import %s; its row allows %s",
				m.position(spec), pkg.Path, imported, strings.Join(append(slices.Clone(Everywhere), row.May...), ", ")))
		}
	}
	return faults
}

func allowed(table []Row, pkg string, row *Row, imported string, isTest bool) bool {
	covers := func(pattern string) bool { return matches(pattern, imported) }
	if slices.Contains(Everywhere, imported) || imported == pkg || slices.ContainsFunc(row.May, covers) {
		target := rowOf(table, imported)
		return isTest || row.Kind == Testing || target == nil || target.Kind != Testing
	}
	if !isTest {
		return false
	}
	target := rowOf(table, imported)
	return slices.ContainsFunc(row.Tests, covers) || target != nil && target.Kind == Testing
}
