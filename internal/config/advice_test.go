package config_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/settings"
)

// mention finds a key in an error, a log message or a help text: its full path, its path from a
// section, its last word after a verb of advice, or its variable.
func mention(sections []string) *regexp.Regexp {
	return regexp.MustCompile(`\b(?:(?:` + strings.Join(sections, "|") + `)\.[a-z][a-z_.%]*[a-z_]` +
		`|(?:set|raise|lower|see|name|correct|choose|check|use|shorten) [a-z]+_[a-z_]+|GIVERNY_[A-Z0-9_]+)\b`)
}

// second finds the second key in "raise collect.poll_timeout or workers".
var second = regexp.MustCompile(`\b(?:set|raise|lower|shorten) [a-z_.%]+[a-z_] (?:or|and) ([a-z_.%]*[a-z_])\b`)

// notKeys look like keys: options of a Kafka broker, variables outside the configuration, moved keys, and keys
// of other files.
var notKeys = regexp.MustCompile(`^(?:log\.(?:segment|retention)\..*|GIVERNY_LIBCHDB|GIVERNY_CONFIG|collect\.spool_bytes|collect\.jobs\.kubernetes\.ca_file|kafka\.sasl\.username|store\.replicated|set link_gbytes)$`)

// An error that advises setting a key must name an existing one.
func TestAdviceNamesKeysThatExist(t *testing.T) {
	cfg := config.Default()
	var sections []string
	for _, f := range settings.Fields(reflect.ValueOf(&cfg).Elem()) {
		if settings.IsSection(f.Value.Type()) || settings.IsSectionList(f.Value.Type()) {
			sections = append(sections, f.Key)
		}
	}
	mention := mention(sections)
	paths, words := map[string]bool{}, map[string]bool{}
	settings.Walk(reflect.ValueOf(&cfg).Elem(), func(path string, f settings.Field) {
		path = strings.ReplaceAll(path, ".0", "")
		paths[path], words[f.Key] = true, true
		paths["GIVERNY_"+strings.ToUpper(strings.ReplaceAll(path, ".", "_"))] = true
	})
	paths["collect.%s.workers"] = paths["collect.perfquery.workers"]
	checked := 0
	for _, text := range literals(t, "../..") {
		for _, found := range mention.FindAllString(text, -1) {
			checked++
			_, word, isWord := strings.Cut(found, " ")
			if notKeys.MatchString(found) || paths[found] || isWord && words[word] {
				continue
			}
			t.Errorf("%q names %q, which is no key", text, found)
		}
		for _, found := range second.FindAllStringSubmatch(text, -1) {
			if checked++; !paths[found[1]] && (strings.Contains(found[1], ".") || !words[found[1]]) {
				t.Errorf("%q names %q, which is no key", text, found[1])
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d mentions of keys found: does the pattern still fit?", checked)
	}
}

// literals are the string literals of the module's Go files, except tests, import paths
// and struct tags.
func literals(t *testing.T, root string) (texts []string) {
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules" || d.Name() == ".deps" || d.Name() == "test") {
			if err == nil {
				err = fs.SkipDir
			}
			return err
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec:
				return false
			case *ast.Field:
				n.Tag = nil
			case *ast.BasicLit:
				if n.Kind == token.STRING {
					text, _ := strconv.Unquote(n.Value) // valid, since it was parsed
					texts = append(texts, text)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}
