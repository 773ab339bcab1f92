package slurm

import (
	"context"
	"slices"
	"strings"
)

// OutOfUse returns the nodes that are idle and drained, so run no job and get none,
// with their Slurm state. A node that is still draining, or is only idle, is in use.
func (s *Scheduler) OutOfUse(ctx context.Context, names []string) (map[string]string, error) {
	out := map[string]string{}
	return out, s.ask(ctx, names, func(name string, n node) {
		if n.outOfUse() {
			out[name] = strings.Join(n.use, "+")
		}
	})
}

// outOfUse evaluates the base state, which comes first, and the flags after it. State
// suffixes such as * (not responding) follow a word.
func (n *node) outOfUse() bool {
	has := func(word string) bool {
		return slices.ContainsFunc(n.use, func(s string) bool { return strings.EqualFold(strings.TrimRight(s, "*~#$!%@^-"), word) })
	}
	return has("IDLE") && has("DRAIN") && !has("NOT_RESPONDING") && !slices.ContainsFunc(n.use, func(s string) bool { return strings.HasSuffix(s, "*") })
}
