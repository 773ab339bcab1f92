package hostname_test

import (
	"testing"

	"github.com/giverny/giverny/internal/hostname"
)

func TestUnqualified(t *testing.T) {
	for name, want := range map[string]struct {
		short     string
		qualified bool
	}{
		"GPU1": {"gpu1", false}, "gpu1.dc.Example.org": {"gpu1", true}, "10.0.0.1": {"10.0.0.1", false}, "7": {"7", false}, "": {"", false},
	} {
		if short, qualified := hostname.Unqualified(name); short != want.short || qualified != want.qualified {
			t.Errorf("%q: %q, %t, want %q, %t", name, short, qualified, want.short, want.qualified)
		}
	}
}
