package records_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/collective/records"
)

const transfers = `2 3 1 1 3 10000 10000 1300 2000000000 500 500
3 2 1 1 2 10000 10000 1300 2000000000 600 500
`

// A folder gives the files that a form has, with its inner folders where it has some; every form refuses what is not its.
func TestFormatsReadFolders(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"out/fct.txt": transfers, "readme": "x", "rank0.log": "x", "dump_0": "x"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wanted := map[string][]string{"vedrfolnir": {"out/fct.txt"}, "flight-recorder": {"dump_0"}, "nccl-inspector": {"rank0.log"}, "nccl-profiler": {"rank0.log"}, "simulated": nil}
	for _, f := range records.Formats() {
		files, err := f.Expand([]string{dir})
		for i := range files.Names {
			files.Names[i], _ = filepath.Rel(dir, files.Names[i])
		}
		if want := wanted[f.Name]; !slices.Equal(files.Names, want) || (err == nil) != (len(want) > 0) {
			t.Errorf("%s: %v, %v; want %v", f.Name, files.Names, err, want)
		}
		if files, err = f.Expand([]string{filepath.Join(dir, "readme")}); err != nil {
			t.Fatal(err)
		}
		if _, _, err = f.Diagnose(files, collective.Options{}); err == nil || !strings.Contains(err.Error(), "readme") {
			t.Errorf("%s reads what is not its: %v", f.Name, err)
		}
	}
	f, err := records.Named("vedrfolnir")
	if err != nil {
		t.Fatal(err)
	}
	files, err := f.Expand([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, d, err := f.Diagnose(files, collective.Options{}); err != nil || d.MakespanNanos != 600 {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := records.Named("x"); err == nil || !strings.Contains(err.Error(), "want one of vedrfolnir, ") {
		t.Errorf("form x: %v", err)
	}
}

// Files that cannot be read are divided from those that can.
func TestReadableLeavesOutWhatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "a.json"), filepath.Join(dir, "b.json")
	for path, text := range map[string]string{good: `[{}]`, bad: `[{"ph":"b","ts":`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, err := records.Named("nccl-inspector")
	if err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(dir, "c.json")
	names, faults := f.Readable(records.Files{Names: []string{good, bad, missing}, Open: records.OSOpen})
	if !slices.Equal(names, []string{good, bad}) || len(faults) != 1 { // a trace that a killed process left open is read
		t.Errorf("%v, %v", names, faults)
	}
}
