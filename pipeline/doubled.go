package pipeline

import (
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/giverny/giverny/internal/plural"
)

// doubledMemory is how long a name counts under which several processes sent.
const doubledMemory = int64(5 * time.Minute)

// doubled are the names of agents under which several processes send: on hosts with the same host name, or
// with the same collect.agent in their configuration. If they also report ports of the same name, their
// readings conflict.
type doubled struct {
	log   *slog.Logger
	names []string
}

// see updates the names, and logs new ones.
func (d *doubled) see(names []string) {
	fresh := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(d.names, name) })
	if len(fresh) > 0 {
		d.log.Warn("analysis: several processes send under one agent name; give each its own collect.agent, or stop all but one", "agents", firstOf(fresh))
	}
	d.names = names
}

func (d *doubled) describe() string {
	if len(d.names) == 0 {
		return ""
	}
	return fmt.Sprintf("several processes send under one agent name: %s; give each its own collect.agent, or stop all but one", firstOf(d.names))
}

// firstOf lists a few of the names.
func firstOf(names []string) string { return plural.First(names, 5, ", ") }
