package diagnose_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The package comment says what each file is for.
func TestPackageCommentNamesEveryFile(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if !strings.HasSuffix(name, "_test.go") && name != "doc.go" && !strings.Contains(string(doc), "//\t"+name+" ") {
			t.Errorf("%s is not in the package comment", name)
		}
	}
}
