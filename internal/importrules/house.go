package importrules

import (
	"fmt"
	"go/ast"
	"go/types"
	"path"
	"regexp"
	"slices"
	"strings"
)

// commentFaults: exactly one file of a package has the package comment.
func commentFaults(m *Module) []string {
	var faults []string
	for pkg, source := range m.Packages {
		var carriers []string
		onlyTests := !slices.ContainsFunc(source.Files, func(f File) bool { return !f.IsTest })
		for _, file := range source.Files {
			if file.IsTest == onlyTests && file.Syntax.Doc.Text() != "" {
				carriers = append(carriers, file.Path)
			}
		}
		if len(carriers) != 1 {
			faults = append(faults, fmt.Sprintf("package %s has %d package comments, want exactly one %v", pkg, len(carriers), carriers))
		}
	}
	return faults
}

// fileList is a line of a package comment that says what files of the package are for.
var fileList = regexp.MustCompile(`(?m)^\t([a-z0-9_]+\.go(?:, [a-z0-9_]+\.go)*) `)

// listFaults: a package comment that lists files lists every file without tests, and no other.
func listFaults(m *Module) []string {
	var faults []string
	for _, source := range m.Packages {
		for _, doc := range source.Files {
			var listed []string
			for _, line := range fileList.FindAllStringSubmatch(doc.Syntax.Doc.Text(), -1) {
				listed = append(listed, strings.Split(line[1], ", ")...)
			}
			if listed == nil {
				continue
			}
			for _, file := range source.Files {
				name := path.Base(file.Path)
				at := slices.Index(listed, name)
				switch {
				case at >= 0:
					listed = slices.Delete(listed, at, at+1)
				case !file.IsTest && file.Path != doc.Path:
					faults = append(faults, fmt.Sprintf("file %s is not in the list of %s", file.Path, doc.Path))
				}
			}
			for _, name := range listed {
				faults = append(faults, fmt.Sprintf("file %s: %s is not in the package, or listed twice", doc.Path, name))
			}
		}
	}
	return faults
}

// emptyNames say nothing about the content of a package.
var emptyNames = regexp.MustCompile(`^(utils?|common|helpers?|misc|base|types|shared)$`)

func nameFaults(m *Module) []string {
	var faults []string
	for pkg, source := range m.Packages {
		if emptyNames.MatchString(path.Base(pkg)) {
			faults = append(faults, fmt.Sprintf("folder %s: name it after what it contains", pkg))
		}
		for _, file := range source.Files {
			if emptyNames.MatchString(strings.TrimSuffix(path.Base(file.Path), ".go")) {
				faults = append(faults, fmt.Sprintf("file %s: name it after what it contains", file.Path))
			}
		}
	}
	return faults
}

// initFaults: no registration in init functions.
func initFaults(m *Module) []string {
	var faults []string
	for decl := range m.writtenDecls() {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
			faults = append(faults, m.position(f)+": an init function; do it where it is called for")
		}
	}
	return faults
}

// skipper is the only package that may skip tests: those whose recorded fixtures are missing.
const skipper = "internal/test/repo"

var skips = []string{"Skip", "Skipf", "SkipNow", "Short"}

// skipFaults: a skipped test proves nothing but looks like a passed one.
func skipFaults(m *Module) []string {
	var faults []string
	for pkg, file := range m.files() {
		if pkg == skipper || !file.IsTest && !strings.HasPrefix(pkg, "internal/test/") {
			continue
		}
		ast.Inspect(file.Syntax, func(node ast.Node) bool {
			if call, ok := node.(*ast.CallExpr); ok {
				if f, ok := call.Fun.(*ast.SelectorExpr); ok && slices.Contains(skips, f.Sel.Name) {
					faults = append(faults, fmt.Sprintf("%s: calls %s; make or start what the test needs, only %s may skip", m.position(call), f.Sel.Name, skipper))
				}
			}
			return true
		})
	}
	return faults
}

// logMethods are the methods of slog.Logger, with the index of the message argument.
var logMethods = map[string]int{
	"Debug": 0, "Info": 0, "Warn": 0, "Error": 0,
	"DebugContext": 1, "InfoContext": 1, "WarnContext": 1, "ErrorContext": 1,
	"Log": 2, "LogAttrs": 2,
}

var (
	logger     = regexp.MustCompile(`(?i)(?:^|\.)log(?:ger)?$|^slog$`)
	logMessage = regexp.MustCompile(`^"[a-z]+: `)
)

// logFaults: a log message is a constant that begins with the name of its component, because repeats are
// recognised by it and operators search for it.
func logFaults(m *Module) []string {
	var faults []string
	for pkg, file := range m.files() {
		if file.IsTest || strings.HasPrefix(pkg, "internal/test/") {
			continue
		}
		ast.Inspect(file.Syntax, func(node ast.Node) bool {
			if call, ok := node.(*ast.CallExpr); ok && !isGoodLogCall(call) {
				faults = append(faults, m.position(call)+`: want a log message that is a constant such as "store: write failed, retrying"`)
			}
			return true
		})
	}
	return faults
}

func isGoodLogCall(call *ast.CallExpr) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !logger.MatchString(types.ExprString(f.X)) {
		return true
	}
	at, ok := logMethods[f.Sel.Name]
	if !ok || len(call.Args) <= at {
		return true
	}
	message, ok := call.Args[at].(*ast.BasicLit)
	return ok && logMessage.MatchString(message.Value)
}

// machineMention matches what ties a file to one machine: hosts of package registries, which a
// mirror replaces, and folders of a developer's disk. The names are split so that this file passes.
var machineMention = regexp.MustCompile(`(?:^|[^\w./~-])/(?:wo` + `rk|ro` + `ot)/` +
	`|registry\.npm` + `js\.org|proxy\.gol` + `ang\.org|sum\.gol` + `ang\.org|repo1?\.mav` + `en\.(?:org|apache\.org)` +
	`|(?:deb|security|snapshot)\.deb` + `ian\.org|(?:static|index)\.crat` + `es\.io|files\.pythonhos` + `ted\.org`)

func mentionFaults(m *Module) []string {
	var faults []string
	for file, text := range m.Texts {
		for number, line := range strings.Split(text, "\n") {
			if found := machineMention.FindString(line); found != "" {
				faults = append(faults, fmt.Sprintf("%s:%d: mentions %s, which holds on one machine only",
					file, number+1, strings.TrimLeft(found, " \t\"'`=(")))
			}
		}
	}
	return faults
}

var page = regexp.MustCompile(`\bdocs/[\w/-]+\.md\b`)

// pageFaults: pages that a comment or an error refers to must exist.
func pageFaults(m *Module) []string {
	var faults []string
	for file, text := range m.Texts {
		if slices.Contains(strings.Split(path.Dir(file), "/"), "testdata") {
			continue
		}
		for number, line := range strings.Split(text, "\n") {
			for _, name := range page.FindAllString(line, -1) {
				if _, there := m.Texts[name]; !there {
					faults = append(faults, fmt.Sprintf("%s:%d: there is no page %s", file, number+1, name))
				}
			}
		}
	}
	return faults
}

// Check returns every violation of the table and the house rules in the module, in order.
func Check(m *Module, table []Row) []string {
	faults := slices.Concat(tableFaults(m, table), pureFaults(m, table), commentFaults(m),
		nameFaults(m), listFaults(m), initFaults(m), orderFaults(m), skipFaults(m), logFaults(m), mentionFaults(m), pageFaults(m))
	slices.Sort(faults)
	return faults
}
