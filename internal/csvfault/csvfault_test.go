package csvfault_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/giverny/giverny/internal/csvfault"
)

func TestExplain(t *testing.T) {
	for text, want := range map[string]string{
		"a,b,c\n1,2,3\n1,2\n":       "3: 2 fields where the header has 3",
		"a,b\n1\n":                  "2: 1 field where the header has 2",
		"a,b\n\n\n1,2,3\n":          "4: 3 fields where the header has 2",
		"a,b\n1,2\"3\n":             "2: character 4: a quotation mark within a field",
		"a,b\n1,2\n\"3,4\n5,6\n7\n": "3: a quoted field does not end with a quotation mark",
	} {
		r := csvfault.NewReader(strings.NewReader(text))
		for {
			record, err := r.Read()
			if err == nil {
				continue
			}
			line, fault := csvfault.Explain(err, r, record)
			if got := string(rune('0'+line)) + ": " + fault.Error(); !strings.HasPrefix(got, want) || !strings.Contains(got, "; ") {
				t.Errorf("%q: %s; want %s and what to do", text, got, want)
			}
			break
		}
	}
	lost := errors.New("the disk is gone")
	if line, fault := csvfault.Explain(lost, nil, nil); line != 0 || fault != lost {
		t.Errorf("%d, %v; want the error as it is", line, fault)
	}
}
