package alertmanager

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/giverny/giverny/schema"
)

// Alert is one of the body of POST /api/v2/alerts.
type Alert struct {
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	StartsAt     time.Time         `json:"startsAt"`
	EndsAt       time.Time         `json:"endsAt"`
	GeneratorURL string            `json:"generatorURL,omitempty"`
}

// alertName is the label alertname.
const alertName = "GivernyCongestionRegion"

// Of makes the alerts of a result: one for each region at a severity or above. Their
// ends are not set. generator is the address of the page, or empty.
func Of(r *schema.IntervalResult, least schema.Severity, generator string) []Alert {
	type key struct {
		id     uint64
		metric schema.Metric
	}
	diagnoses := map[key]*schema.Diagnosis{}
	for i := range r.Diagnoses {
		diagnoses[key{r.Diagnoses[i].Region, r.Diagnoses[i].Metric}] = &r.Diagnoses[i]
	}
	var alerts []Alert
	for i := range r.Regions {
		region := &r.Regions[i]
		if region.Severity < least || region.ID == 0 {
			continue
		}
		alerts = append(alerts, alertOf(r.Snapshot, region, diagnoses[key{region.ID, region.Metric}], generator))
	}
	return alerts
}

func alertOf(s *schema.Snapshot, region *schema.Region, d *schema.Diagnosis, generator string) Alert {
	a := Alert{GeneratorURL: generator, StartsAt: time.Unix(0, region.BirthNanos).UTC(), Annotations: map[string]string{},
		Labels: map[string]string{"alertname": alertName, "fabric": s.Fabric, "region": strconv.FormatUint(region.ID, 10),
			"metric": region.Metric.String(), "severity": strings.ToLower(region.Severity.String()), "class": string(schema.CauseUnknown)}}
	if region.BirthNanos == 0 {
		a.StartsAt = time.Unix(0, s.Interval.StartNanos).UTC()
	}
	where := region.Name
	if where == "" {
		where = fmt.Sprintf("region %d", region.ID)
	}
	a.Annotations["summary"] = fmt.Sprintf("%s: %s congestion, mean %s %.1f%% over %d links", where, region.Severity, region.Metric, region.Mean, len(region.Links))
	if d == nil {
		return a
	}
	if d.Cause.Class != "" {
		a.Labels["class"] = string(d.Cause.Class)
	}
	for name, text := range map[string]string{"description": d.Text, "action": d.Action} {
		if text != "" {
			a.Annotations[name] = text
		}
	}
	if len(d.Jobs) > 0 {
		a.Annotations["job"] = schema.OneLine(d.Jobs[0].JobID)
	}
	if r := d.Root; r != nil {
		at := r.Device
		if r.Port != "" {
			at += " port " + r.Port
		}
		a.Annotations["root"] = schema.OneLine(at)
	}
	return a
}

// identity is what Alertmanager knows an alert by: its labels.
func (a *Alert) identity() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(a.Labels)) {
		fmt.Fprintf(&b, "%q=%q ", name, a.Labels[name])
	}
	return b.String()
}
