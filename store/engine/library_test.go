package engine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// touch creates an empty file and its directories.
func touch(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFindLibrary(t *testing.T) {
	root := t.TempDir()
	work := filepath.Join(root, "a", "b")
	inTree := touch(t, filepath.Join(root, ".deps", "libchdb", "libchdb.so"))
	cached := touch(t, filepath.Join(root, "cache", "giverny", "libchdb.so"))
	other := touch(t, filepath.Join(root, "other.so"))
	if err := os.MkdirAll(work, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(work)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(root, "cache"))

	for _, tt := range []struct {
		name, explicit, variable, remove, want string
	}{
		{name: "explicit", explicit: other, variable: cached, want: other},
		{name: "variable", variable: other, want: other},
		{name: "above the working directory", want: inTree},
		{name: "cache", remove: inTree, want: cached},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv(LibraryVariable, tt.variable)
			os.Remove(tt.remove)
			got, err := FindLibrary(tt.explicit)
			if err != nil || got != tt.want {
				t.Errorf("found %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

func TestFindLibrarySaysWhatToDo(t *testing.T) {
	root := t.TempDir()
	t.Chdir(root)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(root, "cache"))
	t.Setenv(LibraryVariable, "")

	_, err := FindLibrary(filepath.Join(root, "wrong.so"))
	if !errors.Is(err, ErrNoLibrary) || !strings.Contains(err.Error(), "wrong.so") {
		t.Errorf("explicit path: %v", err)
	}
	_, err = FindLibrary("")
	if !errors.Is(err, ErrNoLibrary) {
		t.Fatalf("error %v, want ErrNoLibrary", err)
	}
	for _, want := range []string{"lib/libchdb.so", filepath.Join(root, ".deps/libchdb/libchdb.so"), filepath.Join(root, "cache/giverny/libchdb.so"), "make deps", LibraryVariable, "store.url"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not mention %s:\n%v", want, err)
		}
	}

	t.Setenv(LibraryVariable, root) // a directory
	if _, err := FindLibrary(""); !errors.Is(err, ErrNoLibrary) || !strings.Contains(err.Error(), LibraryVariable) {
		t.Errorf("variable: %v", err)
	}
}
