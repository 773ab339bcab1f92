package textmark

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestTheMarkIsDropped(t *testing.T) {
	for text, want := range map[string]string{"": "", "a": "a", "\ufeff": "", "\ufeffa": "a", "\ufeff\ufeffa": "\ufeffa", "a\ufeff": "a\ufeff", "\xef\xbba": "\xef\xbba"} {
		got, err := io.ReadAll(Skip(iotest.OneByteReader(strings.NewReader(text))))
		if err != nil || string(got) != want {
			t.Errorf("Skip(%q) gives %q, %v, want %q", text, got, err, want)
		}
		if got := Trim([]byte(text)); string(got) != want {
			t.Errorf("Trim(%q) gives %q, want %q", text, got, want)
		}
	}
	failed := errors.New("failed")
	if _, err := io.ReadAll(Skip(iotest.ErrReader(failed))); !errors.Is(err, failed) {
		t.Errorf("an error of reading is lost: %v", err)
	}
}
