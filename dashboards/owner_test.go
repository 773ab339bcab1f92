package dashboards

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

// While no interval is stored, the state says who should store one. A process on standby knows nothing of it itself: its own
// silence is not the network's.
func TestStateWithoutAnOwner(t *testing.T) {
	away := false
	d := &Dashboards{owner: func(_ context.Context, fabric string) (string, bool) { return "it has no owner: " + fabric, away }}
	f := &fabric{name: "ib1", interval: time.Second}
	if why := d.noInterval(t.Context(), f, 7, "nothing is stored yet"); *why != (schema.Unknown{Reason: schema.NoInterval, Since: 7, Detail: "nothing is stored yet; it has no owner: ib1"}) {
		t.Errorf("%+v", why)
	}
	away = true
	if why := d.noInterval(t.Context(), f, 7, "nothing is stored yet"); why.Reason != schema.KafkaAway {
		t.Errorf("without Kafka: %+v", why)
	}
	analysed := false
	state := watcher(func() (schema.NetworkForecast, bool) {
		return schema.NetworkForecast{Unknown: &schema.Unknown{Reason: schema.KafkaAway}}, analysed
	})
	f.watch.Store(&state)
	if _, ok := f.watched(); ok {
		t.Error("a process on standby knows the state")
	}
	if state, ok := (&fabric{}).watched(); ok || state.Unknown != nil {
		t.Error("a process without analysis knows the state")
	}
	analysed = true
	if state, ok := f.watched(); !ok || state.Unknown.Reason != schema.KafkaAway {
		t.Error("the owner does not")
	}
	stored, err := d.storedState(t.Context(), f, read.Stored{}, time.Minute, time.Second)
	if err != nil || !strings.HasSuffix(stored.Unknown.Detail, "no interval stored for 1m0s; it has no owner: ib1") {
		t.Errorf("%+v, %v", stored.Unknown, err)
	}
}
