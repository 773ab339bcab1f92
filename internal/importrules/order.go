package importrules

import (
	"go/ast"
	"go/token"
	"strings"
)

// origin is where an import comes from, in the order of the import groups of a file.
type origin int

const (
	standard origin = iota
	foreign
	own
)

func (m *Module) originOf(spec *ast.ImportSpec) origin {
	imported := importPath(spec)
	first, _, _ := strings.Cut(imported, "/")
	switch _, local := m.local(imported); {
	case local:
		return own
	case strings.Contains(first, "."):
		return foreign
	}
	return standard
}

// orderFaults: imports are in three groups, so that their origins can be seen at a glance.
func orderFaults(m *Module) []string {
	var faults []string
	for decl := range m.writtenDecls() {
		if block, ok := decl.(*ast.GenDecl); ok && block.Tok == token.IMPORT {
			faults = append(faults, m.groupFaults(block)...)
		}
	}
	return faults
}

// groupFaults checks one block of imports: groups are separated by empty lines.
func (m *Module) groupFaults(block *ast.GenDecl) (faults []string) {
	var last *ast.ImportSpec
	for _, s := range block.Specs {
		spec := s.(*ast.ImportSpec)
		if last != nil {
			was, is := m.originOf(last), m.originOf(spec)
			if apart := m.isApart(last, spec); is < was || apart != (is > was) {
				faults = append(faults, m.position(spec)+": imports out of order: want those of the standard library, of other modules and of this one, each as one group")
			}
		}
		last = spec
	}
	return faults
}

// isApart reports whether two imports are separated by an empty line; comments do not count.
func (m *Module) isApart(before, after *ast.ImportSpec) bool {
	begin := after.Pos()
	if after.Doc != nil {
		begin = after.Doc.Pos()
	}
	return m.fileSet.Position(begin).Line > m.fileSet.Position(before.End()).Line+1
}
