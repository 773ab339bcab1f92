package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	codeBlock     = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	codeSpan      = regexp.MustCompile("`[^`\n]*`")
	localLink     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading       = regexp.MustCompile(`(?m)^#+ (.*)$`)
	linkText      = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	namedAnchor   = regexp.MustCompile(`<a (?:id|name)="([^"]+)"`)
	notInAnAnchor = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// Every relative link of the documentation leads to a file that exists and, with a fragment, to one of its anchors.
func TestLinksOfTheDocumentation(t *testing.T) {
	const root = "../.."
	pages := []string{filepath.Join(root, "README.md"), filepath.Join(root, "CHANGELOG.md")}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			pages = append(pages, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	anchors := map[string]map[string]bool{}
	for _, page := range pages {
		anchors[page] = anchorsOf(t, page)
	}
	for _, page := range pages {
		for _, m := range localLink.FindAllStringSubmatch(codeSpan.ReplaceAllString(prose(t, page), ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			file, fragment, _ := strings.Cut(m[1], "#")
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: link to %s: %v", page, m[1], err)
			} else if known, isPage := anchors[target]; isPage && fragment != "" && !known[fragment] {
				t.Errorf("%s: link to %s: the page has no such anchor", page, m[1])
			}
		}
	}
}

// anchorsOf returns the anchors of a page: those that GitHub gives its headings, and named ones.
func anchorsOf(t *testing.T, page string) map[string]bool {
	t.Helper()
	anchors := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(prose(t, page), -1) {
		text := notInAnAnchor.ReplaceAllString(strings.ToLower(linkText.ReplaceAllString(m[1], "$1")), "")
		anchors[strings.ReplaceAll(strings.TrimSpace(text), " ", "-")] = true
	}
	for _, m := range namedAnchor.FindAllStringSubmatch(prose(t, page), -1) {
		anchors[m[1]] = true
	}
	return anchors
}

// prose is the text of a page without its code blocks.
func prose(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return codeBlock.ReplaceAllString(string(text), "")
}

var (
	goFile       = regexp.MustCompile("`(?:[a-z0-9/]*/)?([A-Za-z0-9_]+\\.go)`")
	triedSection = regexp.MustCompile(`(?ms)^## Tried and not kept$.*?^## `)
)

// Every Go file that a page names exists, but for those of rules that were tried and not kept.
func TestGoFilesOfTheDocumentation(t *testing.T) {
	const root = "../.."
	exists := map[string]bool{}
	walk := func(dir, suffix string, each func(path string)) {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err == nil && d.IsDir() && d.Name() == ".deps":
				return filepath.SkipDir
			case strings.HasSuffix(path, suffix):
				each(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	walk("", ".go", func(path string) { exists[filepath.Base(path)] = true })
	walk("docs", ".md", func(path string) {
		for _, m := range goFile.FindAllStringSubmatch(triedSection.ReplaceAllString(prose(t, path), ""), -1) {
			if !exists[m[1]] {
				t.Errorf("%s names %s, which does not exist", path, m[0])
			}
		}
	})
}
