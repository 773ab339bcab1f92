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

// maxExposure is the threshold of systemd-analyze security, in tenths; 0 is least exposed, 100 most. The units have 16, most of it
// for the network; perfquery and RDMA need devices.
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

// The Debian package has the binary, the units where systemd looks for them, and the drop-ins as examples.
func TestPackage(t *testing.T) {
	t.Parallel()
	binary, archive, root := filepath.Join(t.TempDir(), "giverny"), filepath.Join(t.TempDir(), "giverny.deb"), t.TempDir()
	write(t, binary, "#!/bin/sh\n", 0o755)
	if said, err := exec.Command("../../scripts/package.sh", binary, "v1.2-3-gabc", archive).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	if version, err := exec.Command("dpkg-deb", "--field", archive, "Version").Output(); err != nil || string(version) != "1.2+3+gabc\n" {
		t.Errorf("version %q, %v", version, err)
	}
	if said, err := exec.Command("dpkg-deb", "--extract", archive, root).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	for name, place := range map[string]string{"*.service": "usr/lib/systemd/system", "giverny-.service.d/*": "usr/lib/systemd/system/giverny-.service.d",
		"drop-ins/*": "usr/share/doc/giverny/examples", "sysusers.conf": "usr/lib/sysusers.d", "tmpfiles.conf": "usr/lib/tmpfiles.d"} {
		files, err := filepath.Glob(name)
		if err != nil || len(files) == 0 {
			t.Fatalf("no %s: %v", name, err)
		}
		for _, file := range files {
			base := filepath.Base(file)
			if strings.HasSuffix(place, "s.d") {
				base = "giverny.conf"
			}
			if read(t, filepath.Join(root, place, base)) != read(t, file) {
				t.Errorf("%s in the package is not %s", base, file)
			}
		}
	}
	if info, err := os.Stat(filepath.Join(root, "usr/bin/giverny")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the binary: %v, %v", info, err)
	}
}
