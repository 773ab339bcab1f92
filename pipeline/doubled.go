package pipeline

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
)

// doubledMemory is for how long the names count that several processes had.
const doubledMemory = int64(5 * time.Minute)

// doubled are the names of agents under which several processes send: of hosts with one host name, or with one
// configuration that sets collect.agent. Where they report ports of the same name, too, neither's readings
// fit those of the other.
type doubled struct {
	log   *slog.Logger
	names []string
}

// see notes which there are. Those that are new are logged.
func (d *doubled) see(names []string) {
	fresh := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(d.names, name) })
	if len(fresh) > 0 {
		d.log.Warn("analysis: several processes send under the name of one agent; give each a collect.agent of its own, or stop all but one", "agents", firstOf(fresh))
	}
	d.names = names
}

func (d *doubled) describe() string {
	if len(d.names) == 0 {
		return ""
	}
	return fmt.Sprintf("several processes send under the name of one agent: %s; give each a collect.agent of its own, or stop all but one", firstOf(d.names))
}

// firstOf is a few of the names.
func firstOf(names []string) string {
	const few = 5
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}
