package bounded

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestBuffer(t *testing.T) {
	full := 0
	b := Buffer{Limit: 5, Full: func() { full++ }}
	for _, c := range []struct {
		text, kept string
		over       bool
	}{{"abc", "abc", false}, {"", "abc", false}, {"de", "abcde", false}, {"f", "abcde", true}, {"gh", "abcde", true}} {
		if n, err := b.Write([]byte(c.text)); n != len(c.text) || err != nil || string(b.Bytes()) != c.kept || b.Over() != c.over {
			t.Errorf("%q: %d, %v, kept %q, over %v", c.text, n, err, b.Bytes(), b.Over())
		}
	}
	if full != 1 {
		t.Errorf("full was called %d times", full)
	}
	if n, err := (&Buffer{Limit: 2}).Write([]byte("abc")); n != 3 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

func TestReader(t *testing.T) {
	for _, c := range []struct {
		text, want string
		tooLarge   bool
	}{{"", "", false}, {"abcd", "abcd", false}, {"abcde", "abcde", false}, {"abcdef", "abcde", true}, {"abcdefgh", "abcde", true}} {
		for _, r := range []io.Reader{strings.NewReader(c.text), iotest.OneByteReader(strings.NewReader(c.text)), iotest.DataErrReader(strings.NewReader(c.text))} {
			got, err := io.ReadAll(Reader(r, 5))
			large, tooLarge := errors.AsType[*TooLargeError](err)
			if string(got) != c.want || tooLarge != c.tooLarge || tooLarge && large.Error() != "more than 5 bytes" || !tooLarge && err != nil {
				t.Errorf("%q: %q, %v", c.text, got, err)
			}
		}
	}
}
