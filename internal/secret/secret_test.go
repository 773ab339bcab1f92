package secret_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/giverny/giverny/internal/secret"
)

const hidden = "wisteria"

// holder has secrets in every kind of field.
type holder struct {
	Text     secret.Text    `yaml:"text" json:"text"`
	Pointer  *secret.Text   `yaml:"pointer" json:"pointer"`
	List     []secret.Text  `yaml:"list" json:"list"`
	URL      secret.URL     `yaml:"url" json:"url"`
	Any      any            `yaml:"any" json:"any"`
	internal secret.Text    // fmt cannot call the methods of these
	address  secret.URL     //
	deep     map[string]any //
}

func TestNothingPrintsASecret(t *testing.T) {
	text, url := secret.NewText(hidden), secret.NewURL("clickhouse://monet:"+hidden+"@h1:9000,h2:9000/giverny")
	h := holder{text, &text, []secret.Text{text}, url, text, text, url, map[string]any{"a": text, "b": url}}
	var printed bytes.Buffer
	for _, value := range []any{text, &text, url, &url, h, &h, []any{text, url}, map[secret.Text]int{text: 1}} {
		for verb := rune('A'); verb <= 'z'; verb++ {
			for _, flags := range []string{"", "+", "#", "-20", "020", " ", "# +", ".3"} {
				fmt.Fprintf(&printed, "%"+flags+string(verb)+"\n", value)
			}
		}
		fmt.Fprintln(&printed, value)
		for _, marshal := range []func(any) ([]byte, error){json.Marshal, yaml.Marshal} {
			out, err := marshal(value)
			if err != nil {
				if _, isMap := value.(map[secret.Text]int); !isMap {
					t.Error(err)
				}
			}
			printed.Write(out)
		}
		for _, handler := range []slog.Handler{slog.NewTextHandler(&printed, nil), slog.NewJSONHandler(&printed, nil)} {
			slog.New(handler).Error("m", "value", value)
		}
	}
	fmt.Fprintln(&printed, fmt.Errorf("wrapped: %w", fmt.Errorf("%v %s %q", text, url, text)))
	for _, shape := range []string{hidden, fmt.Sprintf("%x", hidden), fmt.Sprintf("%X", hidden), fmt.Sprintf("% x", hidden), fmt.Sprint([]byte(hidden)), hidden[:4]} {
		if strings.Contains(printed.String(), shape) {
			t.Errorf("printed as %q", shape)
		}
	}
	if text.Reveal() != hidden || !strings.Contains(url.Reveal(), hidden) {
		t.Error("Reveal does not give it back")
	}
}

func TestAnAddressIsShownWithoutItsPassword(t *testing.T) {
	for url, want := range map[string]string{
		"":                                    "",
		"http://host:8123/giverny":            "http://host:8123/giverny",
		"http://user@host":                    "http://user@host",
		"http://user:pw@host":                 "http://user:***@host",
		"clickhouse://u:p@s/w@a:1,b:2/d?x=1":  "clickhouse://u:***@a:1,b:2/d?x=1",
		"http://u:p?w@host":                   "http://u:***@host",
		"http://host/?username=u&password=pw": "http://host/?username=u&password=***",
		"http://host/?mail=a@b":               "http://host/?mail=a@b",
		"no address":                          "no address",
	} {
		u := secret.NewURL(url)
		if got := u.String(); got != want {
			t.Errorf("%s is shown as %s, want %s", url, got, want)
		}
		if u.IsSet() != (url != want) || u.IsEmpty() != (url == "") || u.Reveal() != url {
			t.Errorf("%s: set %v, empty %v", url, u.IsSet(), u.IsEmpty())
		}
	}
}

func TestSecretsAreDecoded(t *testing.T) {
	var h holder
	if err := yaml.Unmarshal([]byte("{text: 0123, url: 'http://u:p@h', list: [a, b]}"), &h); err != nil {
		t.Fatal(err)
	}
	if h.Text.Reveal() != "0123" || h.URL.Reveal() != "http://u:p@h" || h.List[1].Reveal() != "b" {
		t.Errorf("got %q %q", h.Text.Reveal(), h.URL.Reveal())
	}
	if secret.NewText("").IsSet() || fmt.Sprint(secret.Text{}) != "" {
		t.Error("an empty text is no secret")
	}
}

func TestASecretOfAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(path, []byte("lily \r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	none, text := secret.Text{}, secret.NewText("lily")
	if got, err := none.Or(path); err != nil || got != "lily " {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := text.Or(""); err != nil || got != "lily" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := text.Or(path); err == nil || strings.Contains(err.Error(), "lily") {
		t.Errorf("two passwords: %v", err)
	}
	if _, err := none.Or(path + "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
