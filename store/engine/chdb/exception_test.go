package chdb

import (
	"strings"
	"testing"
)

func TestParseException(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		wantCode   int
		wantText   string
	}{
		{"plain", "Code: 60. DB::Exception: no table. (UNKNOWN_TABLE)", 60, "Code: 60. DB::Exception: no table. (UNKNOWN_TABLE)"},
		{"prefix", "Error on processing query: Code: 27. DB::Exception: x", 27, "Code: 27. DB::Exception: x"},
		{"no code", "send_insert does not support this", 0, "send_insert does not support this"},
		{"no number", "Code: x. Code: 5. y", 5, "Code: 5. y"},
		{"number too long", "Code: 12345678901. x", 0, "Code: 12345678901. x"},
		{"empty", "", 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := parseException(tt.text)
			if got.Code != tt.wantCode || got.Text != tt.wantText {
				t.Errorf("parseException(%q) = %+v, want code %d, text %q", tt.text, *got, tt.wantCode, tt.wantText)
			}
		})
	}
}

func TestNewExceptionReadsBack(t *testing.T) {
	e := NewException(48, "NOT_IMPLEMENTED", "no such thing")
	if got := parseException(e.Error()); *got != *e {
		t.Errorf("parsed %+v, made %+v", *got, *e)
	}
}

func FuzzParseException(f *testing.F) {
	f.Add("Code: 60. DB::Exception: x")
	f.Add("Code: Code: 1. ")
	f.Fuzz(func(t *testing.T, text string) {
		e := parseException(text)
		if e.Code < 0 || !strings.HasSuffix(text, e.Text) || e.Code == 0 && e.Text != text && !strings.HasPrefix(e.Text, "Code: 0") {
			t.Fatalf("parseException(%q) = %+v", text, *e)
		}
	})
}
