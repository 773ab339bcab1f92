// Package hostname compares names of hosts. In: a name as a scheduler, a log, an adapter's label or LLDP writes it. Out:
// what these have in common. It resolves nothing.
package hostname

import "strings"

// Unqualified returns a host's name in lower case and without domain, and whether it had one: resolvers, labels and schedulers
// write both differently, and neither tells hosts of a cluster apart. An IPv4 address has no domain.
func Unqualified(name string) (short string, qualified bool) {
	name = strings.ToLower(name)
	short, _, qualified = strings.Cut(name, ".")
	if strings.Trim(short, "0123456789") == "" {
		return name, false
	}
	return short, qualified
}
