package importrules

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"iter"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Module is the source code of a module.
type Module struct {
	Path     string // as go.mod says
	Packages map[string]*Package
	Texts    map[string]string // every file that is text, by its path
	fileSet  *token.FileSet
}

// Package is the Go files of one folder.
type Package struct {
	Path  string // the folder
	Files []File
}

// File is one Go file.
type File struct {
	Path   string
	IsTest bool
	Syntax *ast.File
}

// Folders of downloaded or generated files.
var notSource = []string{".git", ".deps", "bin", "node_modules"}

// maxTextBytes is the size above which a file counts as data.
const maxTextBytes = 1 << 20

// Read reads the module below a folder.
func Read(root fs.FS) (*Module, error) {
	goMod, err := fs.ReadFile(root, "go.mod")
	if err != nil {
		return nil, fmt.Errorf("read the module: %w", err)
	}
	name := regexp.MustCompile(`(?m)^module (\S+)$`).FindSubmatch(goMod)
	if name == nil {
		return nil, fmt.Errorf("read the module: go.mod names no module")
	}
	m := &Module{
		Path:     string(name[1]),
		Packages: map[string]*Package{},
		Texts:    map[string]string{},
		fileSet:  token.NewFileSet(),
	}
	err = fs.WalkDir(root, ".", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains(notSource, entry.Name()):
			return fs.SkipDir
		case entry.IsDir() && file != "." && isModule(root, file):
			return fs.SkipDir
		case !entry.Type().IsRegular(), slices.Contains(notSource, entry.Name()): // in a worktree .git is a file
			return nil
		}
		return m.add(root, file, entry)
	})
	if err != nil {
		return nil, fmt.Errorf("read the module: %w", err)
	}
	return m, nil
}

// isModule reports whether a folder is a separate module, to which no rules apply.
func isModule(root fs.FS, dir string) bool {
	_, err := fs.Stat(root, dir+"/go.mod")
	return err == nil
}

func (m *Module) add(root fs.FS, file string, entry fs.DirEntry) error {
	info, err := entry.Info()
	if err != nil || info.Size() > maxTextBytes {
		return err
	}
	content, err := fs.ReadFile(root, file)
	if err != nil {
		return err
	}
	text := string(content)
	if !strings.Contains(text, "\x00") {
		m.Texts[file] = text
	}
	if path.Ext(file) != ".go" || slices.Contains(strings.Split(path.Dir(file), "/"), "testdata") {
		return nil
	}
	syntax, err := parser.ParseFile(m.fileSet, file, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	dir := path.Dir(file)
	if m.Packages[dir] == nil {
		m.Packages[dir] = &Package{Path: dir}
	}
	p := m.Packages[dir]
	p.Files = append(p.Files, File{Path: file, IsTest: strings.HasSuffix(file, "_test.go"), Syntax: syntax})
	return nil
}

// files iterates over the files of all packages, with the package's folder.
func (m *Module) files() iter.Seq2[string, File] {
	return func(yield func(string, File) bool) {
		for pkg, source := range m.Packages {
			for _, file := range source.Files {
				if !yield(pkg, file) {
					return
				}
			}
		}
	}
}

// writtenDecls iterates over the declarations in files that are not generated.
func (m *Module) writtenDecls() iter.Seq[ast.Decl] {
	return func(yield func(ast.Decl) bool) {
		for _, file := range m.files() {
			if ast.IsGenerated(file.Syntax) {
				continue
			}
			for _, decl := range file.Syntax.Decls {
				if !yield(decl) {
					return
				}
			}
		}
	}
}

// position formats the file and line of a node like a compiler.
func (m *Module) position(node ast.Node) string {
	at := m.fileSet.Position(node.Pos())
	return fmt.Sprintf("%s:%d", filepath.ToSlash(at.Filename), at.Line)
}

// local returns the path of an import within the module, or false for an external one.
func (m *Module) local(imported string) (string, bool) {
	if imported == m.Path {
		return ".", true
	}
	return strings.CutPrefix(imported, m.Path+"/")
}

func importPath(spec *ast.ImportSpec) string {
	unquoted, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		panic("the parser let a malformed import pass: " + spec.Path.Value)
	}
	return unquoted
}
