package slurm

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/giverny/giverny/feedback/reconcile"
)

// node is the part of a node that is changed. Its JSON is the reconciler's State and is
// stored in the journal.
type node struct {
	Weight    uint32   `json:"weight"`
	Available []string `json:"available,omitempty"` // features
	Active    []string `json:"active,omitempty"`
	use       []string // Slurm's state and flags, never changed here
}

func (n node) state() reconcile.State {
	text, err := json.Marshal(n)
	if err != nil { // cannot fail: numbers and strings
		panic("slurm: " + err.Error())
	}
	return reconcile.State(text)
}

func nodeOf(s reconcile.State) (n node, err error) {
	if err := json.Unmarshal([]byte(s), &n); err != nil {
		return n, fmt.Errorf("state of a node %q: %w", string(s), err)
	}
	return n, nil
}

var errWeighted = errors.New("its weight is already that of a congested node or higher; configure a higher weight, or remove the node from the allow list")

// Avoid returns the state of a node once it is marked.
func (s *Scheduler) Avoid(now reconcile.State) (reconcile.State, error) {
	n, err := nodeOf(now)
	if err != nil {
		return "", err
	}
	if s.cfg.Weight > 0 {
		if n.Weight >= s.cfg.Weight && !s.marks(n) {
			return "", errWeighted
		}
		n.Weight = s.cfg.Weight
	}
	n.Available, n.Active = with(n.Available, s.cfg.Feature), with(n.Active, s.cfg.Feature)
	n.Active = without(n.Active, s.cfg.ClearFeature)
	return n.state(), nil
}

// marks reports whether a node's features show that it is marked.
func (s *Scheduler) marks(n node) bool {
	return s.cfg.Feature != "" && slices.Contains(n.Active, s.cfg.Feature)
}

// Undo returns the state of a node after relief: the parts of the mark that are
// unchanged since are reverted; changes by others stay. A weight above that of the mark covers it: it is an operator's,
// or the mark of another process, which will restore the weight that it found, that of this mark.
func (s *Scheduler) Undo(now, before, marked reconcile.State) (reconcile.State, reconcile.Standing) {
	is, err := nodeOf(now)
	was, errWas := nodeOf(before)
	made, errMade := nodeOf(marked)
	if errors.Join(err, errWas, errMade) != nil {
		return now, reconcile.Gone
	}
	then, found := is, reconcile.Gone
	if made.Weight != was.Weight && is.Weight == made.Weight {
		then.Weight, found = was.Weight, reconcile.Stands
	}
	for _, feature := range made.Active {
		if !slices.Contains(was.Active, feature) && slices.Contains(then.Active, feature) { // added
			then.Active, found = without(then.Active, feature), reconcile.Stands
		}
	}
	for _, feature := range made.Available {
		if !slices.Contains(was.Available, feature) && slices.Contains(then.Available, feature) {
			then.Available, found = without(then.Available, feature), reconcile.Stands
		}
	}
	for _, feature := range was.Active {
		if !slices.Contains(made.Active, feature) && !slices.Contains(then.Active, feature) && slices.Contains(then.Available, feature) { // taken away
			then.Active, found = with(then.Active, feature), reconcile.Stands
		}
	}
	if made.Weight != was.Weight && is.Weight > made.Weight {
		found = reconcile.Covered
	}
	return then.state(), found
}

// with returns list plus name, sorted; without returns it minus name.
func with(list []string, name string) []string {
	if name == "" || slices.Contains(list, name) {
		return list
	}
	return slices.Sorted(slices.Values(append(slices.Clone(list), name)))
}

func without(list []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(have string) bool { return have == name })
}
