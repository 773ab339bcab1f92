//go:build integration

// Package systemd has no code: its test has systemd-analyze judge the units in this folder. Those of cmd/giverny compare
// what is in them with the program's command line and configuration.
package systemd

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// maxExposure is the threshold of systemd-analyze security, in tenths; 0 is least exposed, 100 most. The units have 1.5 to 1.8,
// most of it for the network; perfquery and RDMA need devices.
const maxExposure = "20"

// install copies the units, with some drop-ins, to where systemd-analyze looks for them below root.
func install(t *testing.T, unit string, dropIns ...string) (root string) {
	t.Helper()
	root = t.TempDir()
	units := filepath.Join(root, "usr/lib/systemd/system")
	if err := os.CopyFS(units, os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	for _, name := range dropIns {
		write(t, filepath.Join(units, unit+".d", filepath.Base(name)), read(t, name), 0o644)
	}
	write(t, filepath.Join(root, "usr/bin/giverny"), "#!/bin/sh\n", 0o755)
	for _, target := range []string{"basic", "multi-user", "network-online", "shutdown", "sysinit"} { // of systemd itself
		write(t, filepath.Join(units, target+".target"), "[Unit]\nDescription="+target+"\n", 0o644)
	}
	return root
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// analyze returns what systemd-analyze says of an installed unit. Older versions ignore settings that they do not know, with a
// message.
func analyze(t *testing.T, root, unit string) string {
	t.Helper()
	path := filepath.Join(root, "usr/lib/systemd/system", unit)
	said, err := exec.Command("systemd-analyze", "verify", "--man=no", "--root="+root, path).CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v; it comes from make deps-test", unit, err)
	}
	exposed, err := exec.Command("systemd-analyze", "security", "--offline=true", "--threshold="+maxExposure, "--root="+root, unit).CombinedOutput()
	if err != nil {
		t.Errorf("%s: more exposed than %s tenths, %v:\n%s", unit, maxExposure, err, exposed)
	}
	return string(said)
}

// Every unit is valid, alone and with each drop-in meant for it, and exposed as little as it says.
func TestUnits(t *testing.T) {
	t.Parallel()
	units, err := filepath.Glob("*.service")
	if err != nil || len(units) == 0 {
		t.Fatal("no units", err)
	}
	for _, unit := range units {
		if said := analyze(t, install(t, unit), unit); said != "" {
			t.Errorf("%s: %s", unit, said)
		}
	}
	dropIns, err := filepath.Glob("drop-ins/*.conf")
	if err != nil || len(dropIns) == 0 {
		t.Fatal("no drop-ins", err)
	}
	for _, dropIn := range dropIns {
		unit, _, found := strings.Cut(read(t, dropIn), ".service")
		if unit = unit[strings.LastIndexAny(unit, " /")+1:]; unit == "giverny-" {
			unit = "giverny-collect" // one of all
		}
		if said := analyze(t, install(t, unit+".service", dropIn), unit+".service"); said != "" || !found {
			t.Errorf("%s for %q: %s", dropIn, unit, said)
		}
	}
}

// A unit that systemd-analyze must complain about, so that its silence about the others means something.
func TestFaultsAreFound(t *testing.T) {
	t.Parallel()
	root := install(t, "giverny-serve.service")
	path := filepath.Join(root, "usr/lib/systemd/system/giverny-serve.service")
	write(t, path, strings.Replace(read(t, path), "StateDirectory=", "StateDirectry=", 1), 0o644)
	if said := analyze(t, root, "giverny-serve.service"); !strings.Contains(said, "StateDirectry") {
		t.Errorf("an unknown setting: %q", said)
	}
}

// The threshold tells hardened units from others.
func TestHardeningCounts(t *testing.T) {
	t.Parallel()
	root := install(t, "giverny-serve.service")
	if err := os.RemoveAll(filepath.Join(root, "usr/lib/systemd/system/giverny-.service.d")); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.Command("systemd-analyze", "security", "--offline=true", "--threshold="+maxExposure, "--root="+root, "giverny-serve.service").CombinedOutput(); err == nil {
		t.Errorf("without the hardening it is exposed as little:\n%s", said)
	}
}

// systemd-sysusers makes the user as whom the units run.
func TestUser(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, "usr/lib/sysusers.d/giverny.conf"), read(t, "sysusers.conf"), 0o644)
	if said, err := exec.Command("systemd-sysusers", "--root="+root, "giverny.conf").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	if users := read(t, filepath.Join(root, "etc/passwd")); !strings.HasPrefix(users, "giverny:") {
		t.Errorf("users: %s", users)
	}
}
