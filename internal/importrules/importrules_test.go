package importrules

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/giverny/giverny/internal/test/repo"
	"github.com/giverny/giverny/internal/test/script"
)

func TestTheModuleKeepsItsRules(t *testing.T) {
	m, err := Read(os.DirFS(repo.Dir(t)))
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range Check(m, Architecture) {
		t.Error(fault)
	}
}

// sample is the table for the modules in testdata.
var sample = []Row{
	{Package: "schema", Kind: Pure},
	{Package: "core", Kind: Pure},
	{Package: "shell", May: []string{"core", "shell/deep"}, Tests: []string{"other"}},
	{Package: "shell/...", May: []string{"core"}},
	{Package: "other"},
	{Package: "starter", May: []string{"core"}, Kind: Testing},
}

// TestEachRule checks a module in an archive; the expected result is the archive's comment. MACHINE and
// REGISTRY are placeholders for text that no file of this module may contain either.
func TestEachRule(t *testing.T) {
	script.Run(t, "testdata/*.txt", func(t *testing.T, text string) string {
		archive := txtar.Parse([]byte(text))
		root := t.TempDir()
		for _, file := range archive.Files {
			write(t, filepath.Join(root, file.Name), string(file.Data))
		}
		m, err := Read(os.DirFS(root))
		if err != nil {
			t.Fatal(err)
		}
		var faults strings.Builder
		for _, fault := range Check(m, sample) {
			faults.WriteString(standIns.Replace(fault) + "\n")
		}
		archive.Comment = []byte(faults.String())
		return string(txtar.Format(archive))
	})
}

var (
	realNames = strings.NewReplacer("MACHINE", "/ro"+"ot/", "REGISTRY", "registry.npm"+"js.org")
	standIns  = strings.NewReplacer("/ro"+"ot/", "MACHINE", "registry.npm"+"js.org", "REGISTRY")
)

func write(t *testing.T, path, text string) {
	t.Helper()
	text = realNames.Replace(text)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
