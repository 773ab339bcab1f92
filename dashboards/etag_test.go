package dashboards

import (
	"testing"

	"github.com/giverny/giverny/feedback/score"
	"github.com/giverny/giverny/schema"
)

// After a restart with another configuration the scores of an interval are others, so its tag must be another.
func TestTagOfScoresChangesWithWhatMakesThem(t *testing.T) {
	f, cfg, other := &fabric{name: "ib0"}, score.DefaultConfig(), score.DefaultConfig()
	other.Hops++
	id, later := scoredInterval{startNanos: 1}, scoredInterval{startNanos: 2}
	tag := etagOf(f, cfg, &id, "", 1)
	for name, changed := range map[string]string{
		"the configuration": etagOf(f, other, &id, "", 1),
		"the interval":      etagOf(f, cfg, &later, "", 1),
		"the state":         etagOf(f, cfg, &id, schema.NoInterval, 1),
		"the least score":   etagOf(f, cfg, &id, "", 2),
		"the fabric":        etagOf(&fabric{name: "ib1"}, cfg, &id, "", 1),
	} {
		if changed == tag {
			t.Errorf("%s changes, the tag does not", name)
		}
	}
	if etagOf(f, cfg, &id, "", 1) != tag {
		t.Error("the same scores have two tags")
	}
}
