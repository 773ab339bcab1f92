package script

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"one.txt": "ONE\n", "two.txt": "TWO\n", "other.md": "no script"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var played []string
	Run(t, filepath.Join(dir, "*.txt"), func(t *testing.T, text string) string {
		played = append(played, filepath.Base(t.Name())+" "+text)
		return strings.ToUpper(text)
	})
	if got := strings.Join(played, ""); got != "one ONE\ntwo TWO\n" {
		t.Errorf("played %q", got)
	}
}

func TestRewrite(t *testing.T) {
	*rewrite = true
	t.Cleanup(func() { *rewrite = false })
	file := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	Run(t, file, func(*testing.T, string) string { return "new" })
	if text, err := os.ReadFile(file); err != nil || string(text) != "new" {
		t.Errorf("%q, %v", text, err)
	}
}
