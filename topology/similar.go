package topology

import (
	"regexp"
	"strings"
)

// Similar finds the device or host that a name resembles but is not: names that differ only in case, domain, separators or
// leading zeros ("GPU1.example.com" and "gpu-0001"). It is empty if there is none. It is a hint for people, not for matching.
func (g *Graph) Similar(name string) string {
	like := plainest(name)
	if like == "" {
		return ""
	}
	for i := range g.devices {
		for _, own := range [...]string{g.devices[i].Name, HostOf(g.devices[i].Name)} {
			if own != name && plainest(own) == like {
				return own
			}
		}
	}
	return ""
}

var zeros = regexp.MustCompile(`(^|[^0-9])0+([0-9])`)

// plainest is a name in lower case without domain, separators and leading zeros.
func plainest(name string) string {
	name, _, _ = strings.Cut(strings.ToLower(name), ".")
	return strings.NewReplacer("-", "", "_", "", " ", "").Replace(zeros.ReplaceAllString(name, "$1$2"))
}

// Hint is for messages about a name that g does not have: `did you mean "gpu-0001"?` if there is a similar one, otherwise an
// example of its names.
func (g *Graph) Hint(name string) string {
	if similar := g.Similar(name); similar != "" {
		return `did you mean "` + similar + `"?`
	}
	example := g.devices[0].Name
	if hosts := g.Hosts(); len(hosts) > 0 {
		example = g.devices[hosts[0]].Name
	}
	return `its devices are named like "` + example + `"`
}
