package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/settings"
)

// A value of the wrong type or unit is a fault that names the file, the line and the key, and says what is wanted.
func TestEveryKeyRefusesAWrongType(t *testing.T) {
	cfg := config.Default()
	cfg.Fabrics = []config.Fabric{config.DefaultFabric()}
	cfg.Feedback.Webhooks, cfg.Command.Allow = slices.Grow(cfg.Feedback.Webhooks, 1)[:1], slices.Grow(cfg.Command.Allow, 1)[:1]
	file := filepath.Join(t.TempDir(), "giverny.yaml")
	tried := 0
	settings.Walk(reflect.ValueOf(&cfg).Elem(), func(path string, f settings.Field) {
		if settings.IsSection(f.Value.Type()) {
			return
		}
		for _, wrong := range wrongValues(f.Value) {
			text := strings.Repeat("#\n", 4) + nested(strings.Split(path, "."), wrong)
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			tried++
			_, err := config.Load(file, nil)
			where := fmt.Sprintf("%s:%d: %s: ", file, strings.Count(text, "\n"), strings.ReplaceAll(path, ".0.", "[0]."))
			if err == nil || !strings.HasPrefix(err.Error(), where) && !strings.HasPrefix(err.Error(), strings.ReplaceAll(where, "[0].", ".0.")) || !strings.Contains(err.Error(), "want ") {
				t.Errorf("%s: %s: %v", path, wrong, err)
			}
		}
	})
	if tried < 900 {
		t.Errorf("%d values were tried, want several of each key", tried)
	}
}

// wrongValues are values in YAML that cannot be those of a field.
func wrongValues(v reflect.Value) (wrong []string) {
	wrong = []string{"{a: 1}"}
	switch kind := v.Kind(); {
	case v.Type() == reflect.TypeFor[time.Duration]():
		return append(wrong, "60", "1 hour", "[1s]", "soon")
	case v.CanInt() || v.CanUint():
		return append(wrong, "1.5", "ten", "1s", "[1]", "99999999999999999999")
	case v.CanFloat():
		return append(wrong, "half", "5%", "[1]")
	case kind == reflect.Bool:
		return append(wrong, "maybe", "2", "[true]")
	case settings.IsSectionList(v.Type()):
		return append(wrong, "a")
	case kind == reflect.Slice:
		return append(wrong, "[[a]]")
	case kind == reflect.Map:
		return []string{"[a]", "7"}
	}
	return append(wrong, "[a]")
}

// nested is a value below its sections; a number is an element of a list. The value is on the last line.
func nested(path []string, value string) string {
	var b strings.Builder
	indent, dash := "", ""
	for i, key := range path {
		if _, err := strconv.Atoi(key); err == nil {
			dash = "- "
			continue
		}
		fmt.Fprintf(&b, "%s%s%s:", indent, dash, key)
		if indent += strings.Repeat(" ", 2+len(dash)); i == len(path)-1 {
			b.WriteString(" " + value)
		}
		b.WriteString("\n")
		dash = ""
	}
	return b.String()
}
