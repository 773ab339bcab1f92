package reconcile

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// The audit repeats an error for every unchanged node, so the joined error of thousands of nodes is truncated.
func TestErrorsOfThousandsOfNodesAreCut(t *testing.T) {
	var all []error
	for i := range 10_000 {
		all = append(all, fmt.Errorf("host%d: größer", i))
	}
	text := brief(errors.Join(all...)).Error()
	if len(text) > maxError+100 || !strings.HasPrefix(text, "host0: größer\n") || !strings.HasSuffix(text, " bytes of errors)") {
		t.Errorf("%d bytes: %s", len(text), text)
	}
	if err := all[0]; brief(err) != err || brief(nil) != nil {
		t.Errorf("a short error is changed: %v", brief(err))
	}
}
