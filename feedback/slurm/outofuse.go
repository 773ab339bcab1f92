package slurm

import (
	"context"
	"slices"
	"strings"
)

// OutOfUse are those of some nodes that run no job and are given none, with Slurm's
// word for their state: idle, and drained. A node that is still draining, or that is
// idle alone, is in use.
func (s *Scheduler) OutOfUse(ctx context.Context, names []string) (map[string]string, error) {
	out := map[string]string{}
	return out, s.ask(ctx, names, func(name string, n node) {
		if n.outOfUse() {
			out[name] = strings.Join(n.use, "+")
		}
	})
}

// outOfUse reads the base state, which comes first, and the flags after it. A mark
// such as * (does not answer) stands behind a word.
func (n *node) outOfUse() bool {
	has := func(word string) bool {
		return slices.ContainsFunc(n.use, func(s string) bool { return strings.EqualFold(strings.TrimRight(s, "*~#$!%@^-"), word) })
	}
	return has("IDLE") && has("DRAIN") && !has("NOT_RESPONDING") && !slices.ContainsFunc(n.use, func(s string) bool { return strings.HasSuffix(s, "*") })
}
