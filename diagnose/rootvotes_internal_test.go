package diagnose

import (
	"testing"

	"github.com/giverny/giverny/schema"
)

func TestRootsOfARegionDoNotTakeTurns(t *testing.T) {
	for _, c := range []struct{ name, found, want string }{
		{"the second interval is better than the first", "abbb", "abbb"},
		{"one interval is noise", "aaaabaaaa", "aaaaaaaaa"},
		{"two take turns", "aabababab", "aaaaaaaaa"},
		{"another one for good", "aaaaaaaaabbbb", "aaaaaaaaaaabb"},
		{"none, once", "aaaa-aa", "aaaaaaa"},
		{"none any more", "aaaa----", "aaaaaa--"},
	} {
		var r rootVotes
		got := ""
		for _, port := range c.found {
			now := &schema.Root{Device: "s", Port: string(port)}
			if port == '-' {
				now = nil
			}
			if best := r.add(now); best.root.Device == "" {
				got += "-"
			} else {
				got += best.root.Port
			}
		}
		if got != c.want {
			t.Errorf("%s: found %s, given %s, want %s", c.name, c.found, got, c.want)
		}
	}
}
