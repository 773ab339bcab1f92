package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/test/repo"
)

// unitSettings are the values of each setting of a unit or drop-in, comments left out.
func unitSettings(t *testing.T, path string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		if key, value, found := strings.Cut(strings.TrimSpace(line), "="); found && !strings.HasPrefix(key, "#") {
			settings[key] = append(settings[key], value)
		}
	}
	return settings
}

func unitFiles(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(repo.Dir(t), "deploy", "systemd", pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no %s: %v", pattern, err)
	}
	return files
}

// The long-running roles, and nothing else, have a unit each, whose command line the program takes.
func TestUnitsStartTheRoles(t *testing.T) {
	t.Setenv("GIVERNY_CONFIG", "")
	var roles []string
	for _, unit := range unitFiles(t, "*.service") {
		settings := unitSettings(t, unit)
		if len(settings["ExecStart"]) != 1 {
			t.Fatalf("%s: ExecStart %q", unit, settings["ExecStart"])
		}
		argv := strings.Fields(settings["ExecStart"][0])
		root := newRoot()
		cmd, args, err := root.Find(argv[1:])
		if err == nil {
			err = cmd.ParseFlags(args)
		}
		if err != nil || cmd.Flags().NArg() > 0 {
			t.Errorf("%s: %q: %v, with arguments %q", unit, argv, err, cmd.Flags().Args())
			continue
		}
		roles = append(roles, cmd.Name())
		file := cmd.Flag("config").Value.String()
		if argv[0] != "/usr/bin/giverny" || file != "/etc/giverny/giverny.yaml" || filepath.Base(unit) != "giverny-"+cmd.Name()+".service" {
			t.Errorf("%s starts %q", unit, argv)
		}
	}
	if want := []string{"analyze", "collect", "serve", "up"}; !slices.Equal(roles, want) {
		t.Errorf("units of %v, want %v", roles, want)
	}
}

// What a unit and the drop-ins set in the environment are keys of the configuration, and the data folder is the one that systemd
// makes and lets the process write.
func TestUnitsSetKeysOfTheConfiguration(t *testing.T) {
	for _, file := range append(unitFiles(t, "*.service"), unitFiles(t, "drop-ins/*.conf")...) {
		settings := unitSettings(t, file)
		environ := settings["Environment"]
		cfg, err := config.Load("", environ)
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if state := settings["StateDirectory"]; len(state) > 0 && cfg.DataDir != "/var/lib/"+state[0] {
			t.Errorf("%s: data_dir %s, StateDirectory %s", file, cfg.DataDir, state[0])
		}
		for _, credential := range settings["LoadCredential"] {
			id, _, _ := strings.Cut(credential, ":")
			if !slices.ContainsFunc(environ, func(e string) bool { return strings.HasSuffix(e, "=%d/"+id) }) {
				t.Errorf("%s: no key names the credential %s: %q", file, id, environ)
			}
		}
	}
}

// The configuration on the page is accepted, and its paths are those of the units.
func TestDocumentedClusterConfiguration(t *testing.T) {
	root := repo.Dir(t)
	page, err := os.ReadFile(filepath.Join(root, "docs", "how-to", "run-on-a-cluster.md"))
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```yaml\n# (/etc/giverny/giverny.yaml)\n(.*?)```").FindSubmatch(page)
	if block == nil {
		t.Fatal("the page has no configuration")
	}
	file := filepath.Join(t.TempDir(), "giverny.yaml")
	if err := os.WriteFile(file, block[2], 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := newRoot()
	cmd.SetArgs([]string{"--config", file, "--dump-config"})
	if _, err := execute(t.Context(), cmd, io.Discard); err != nil {
		t.Errorf("the documented configuration: %v", err)
	}
	for _, path := range regexp.MustCompile(`/(?:usr|etc|var/lib)/[\w./@-]*giverny[\w./@-]*`).FindAllString(string(page), -1) {
		if dir := filepath.Dir(path); strings.HasPrefix(path, "/var/lib") && dir != "/var/lib" && dir != "/var/lib/giverny" {
			t.Errorf("the page names %s, which is no folder of a unit", path)
		}
	}
}
