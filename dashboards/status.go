package dashboards

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

// status is the present state of the network, not that of the newest interval:
// it is unknown while no intervals arrive.
type status struct {
	Network schema.NetworkForecast `json:"network"`
	// End of the newest interval and its age by this host's clock; null if none
	// is stored or the store was not queried.
	End        *schema.Instant `json:"end"`
	AgeSeconds *float64        `json:"age_seconds"`
	Live       bool            `json:"live"` // the state is known and current
}

// Intervals are overdue if none has been stored for so many intervals, or so long.
const (
	overdueIntervals = 4
	minOverdue       = 10 * time.Second
)

// status returns the present state of the network.
func (d *Dashboards) status(ctx context.Context, p *ofFabric) (*status, error) {
	f, err := d.fabricOf(p.Fabric)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	state, analysed := f.watched()
	if analysed && state.Unknown != nil { // also while the store does not answer
		return &status{Network: state}, nil
	}
	stored, err := d.model.LastStored(ctx, f.name)
	if errors.Is(err, read.ErrNotFound) {
		return &status{Network: schema.NetworkForecast{Unknown: d.noInterval(ctx, f, 0, "nothing is stored yet")}}, nil
	}
	if err != nil {
		return nil, err
	}
	overdue := max(overdueIntervals*f.interval, minOverdue)
	if !analysed {
		if state, err = d.storedState(ctx, f, stored, now.Sub(time.Unix(0, stored.StoredAtNanos)), overdue); err != nil {
			return nil, err
		}
	}
	if why := state.Unknown; why != nil {
		state.Unknown = &schema.Unknown{Reason: why.Reason, Since: why.Since, Detail: why.Explained()}
	}
	end, age := schema.Instant(stored.EndNanos()), now.Sub(time.Unix(0, stored.EndNanos()))
	seconds := age.Seconds()
	return &status{Network: state, End: &end, AgeSeconds: &seconds, Live: state.Unknown == nil && age <= overdue}, nil
}

// storedState returns the stored state, or unknown if that is too old.
func (d *Dashboards) storedState(ctx context.Context, f *fabric, stored read.Stored, age, overdue time.Duration) (schema.NetworkForecast, error) {
	if age > overdue {
		return schema.NetworkForecast{Unknown: d.noInterval(ctx, f, schema.Instant(stored.EndNanos()),
			fmt.Sprintf("no interval stored for %s", age.Truncate(time.Second)))}, nil
	}
	result, err := d.model.Findings(ctx, f.name, stored)
	if err != nil {
		return schema.NetworkForecast{}, err
	}
	return result.Network, nil
}

// noInterval is the state of a fabric of which no interval is stored, with what is known of the process that should store it.
// Without Kafka no process owns the fabric, or is known to.
func (d *Dashboards) noInterval(ctx context.Context, f *fabric, since schema.Instant, detail string) *schema.Unknown {
	reason := schema.NoInterval
	if d.owner != nil {
		text, away := d.owner(ctx, f.name)
		if detail += "; " + text; away {
			reason = schema.KafkaAway
		}
	}
	return &schema.Unknown{Reason: reason, Since: since, Detail: detail}
}
