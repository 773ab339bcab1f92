package importrules

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/giverny/giverny/internal/test/repo"
)

var rewrite = flag.Bool("rewrite", false, "write the faults found into testdata/*.txt")

func TestTheModuleKeepsItsRules(t *testing.T) {
	m, err := Read(os.DirFS(repo.Dir(t)))
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range Check(m, Architecture) {
		t.Error(fault)
	}
}

// sample is the table of the modules in testdata.
var sample = []Row{
	{Package: "schema", Kind: Pure},
	{Package: "core", Kind: Pure},
	{Package: "shell", May: []string{"core", "shell/deep"}, Tests: []string{"other"}},
	{Package: "shell/...", May: []string{"core"}},
	{Package: "other"},
	{Package: "starter", May: []string{"core"}, Kind: Testing},
}

// TestEachRule reads a module from the files of an archive; what Check must say is the archive's comment.
// MACHINE and REGISTRY stand for what no file of this module may mention either.
func TestEachRule(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no archives in testdata: %v", err)
	}
	for _, path := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			root := t.TempDir()
			for _, file := range archive.Files {
				write(t, filepath.Join(root, file.Name), string(file.Data))
			}
			m, err := Read(os.DirFS(root))
			if err != nil {
				t.Fatal(err)
			}
			var got string
			for _, fault := range Check(m, sample) {
				got += standIns.Replace(fault) + "\n"
			}
			if *rewrite {
				archive.Comment = []byte(got)
				write(t, path, string(txtar.Format(archive)))
				return
			}
			if diff := cmp.Diff(string(archive.Comment), got); diff != "" {
				t.Errorf("faults (-want +got), go test -rewrite takes them over:\n%s", diff)
			}
		})
	}
}

var (
	realNames = strings.NewReplacer("MACHINE", "/ro"+"ot/", "REGISTRY", "registry.npm"+"js.org")
	standIns  = strings.NewReplacer("/ro"+"ot/", "MACHINE", "registry.npm"+"js.org", "REGISTRY")
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if filepath.Dir(path) != "testdata" {
		text = realNames.Replace(text)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
