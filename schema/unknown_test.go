package schema_test

import (
	"testing"

	"github.com/giverny/giverny/schema"
)

// Every reason says more than its name, or has a detail where it is made.
func TestUnknownIsExplained(t *testing.T) {
	for _, reason := range []schema.UnknownReason{schema.NothingMeasured, schema.LowCoverage} {
		u := schema.Unknown{Reason: reason}
		if text := u.Explained(); len(text) <= len(reason) {
			t.Errorf("%s: %q", reason, text)
		}
	}
	u := schema.Unknown{Reason: schema.KafkaAway, Detail: "Kafka has not answered for 30s"}
	if got := u.Explained(); got != u.Detail {
		t.Errorf("%q, want the detail", got)
	}
	for _, reason := range schema.UnknownReasons {
		if u := (schema.Unknown{Reason: reason}); u.Explained() == "" {
			t.Errorf("%s: nothing", reason)
		}
	}
}
