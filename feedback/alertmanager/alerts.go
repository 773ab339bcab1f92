package alertmanager

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/giverny/giverny/internal/plural"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Alert is an element of the request body of POST /api/v2/alerts.
type Alert struct {
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	StartsAt     time.Time         `json:"startsAt"`
	EndsAt       time.Time         `json:"endsAt"`
	GeneratorURL string            `json:"generatorURL,omitempty"`

	severity schema.Severity
	region   uint64
}

// alertName is the value of the label alertname.
const alertName = "GivernyCongestionRegion"

// alerts returns an alert for each region of a result with at least the given severity, with EndsAt unset, and tracks their
// incidents from result to result. generator is the URL of the web page, or empty.
func (in incidents) alerts(r *schema.IntervalResult, least schema.Severity, generator string, now time.Time) []Alert {
	in.follow(r, least, now)
	diagnoses := r.DiagnosesByRegion()
	var alerts []Alert
	for i := range r.Regions {
		region := &r.Regions[i]
		if region.Severity < least || region.ID == 0 {
			continue
		}
		a := alertOf(r.Snapshot, region, diagnoses[region.ID], generator)
		a.Labels["incident"] = strconv.FormatUint(in[regionKey{r.Snapshot.Fabric, region.ID}].id, 10)
		alerts = append(alerts, a)
	}
	return alerts
}

func alertOf(s *schema.Snapshot, region *schema.Region, d *schema.Diagnosis, generator string) Alert {
	a := Alert{severity: region.Severity, region: region.ID, GeneratorURL: linkTo(generator, s, region), StartsAt: time.Unix(0, region.BirthNanos).UTC(), Annotations: map[string]string{},
		Labels: map[string]string{"alertname": alertName, "fabric": s.Fabric, "region": strconv.FormatUint(region.ID, 10),
			"metric": region.Metric.String(), "severity": strings.ToLower(region.Severity.String()), "class": string(schema.CauseUnknown)}}
	if region.BirthNanos == 0 {
		a.StartsAt = time.Unix(0, s.Interval.StartNanos).UTC()
	}
	where := cmp.Or(region.Name, fmt.Sprintf("region %d", region.ID))
	a.Annotations["summary"] = fmt.Sprintf("%s: %s congestion, mean %s %.1f%% over %s", where, region.Severity, region.Metric, region.Mean, plural.Count(len(region.Links), "link", "links"))
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
		a.Annotations["root"] = schema.OneLine(topology.PortName(r.Device, r.Port))
	}
	return a
}

// linkTo returns the page URL with the region and the interval as query parameters.
func linkTo(page string, s *schema.Snapshot, region *schema.Region) string {
	u, err := url.Parse(page)
	if err != nil || page == "" {
		return page
	}
	q := u.Query()
	q.Set("fabric", s.Fabric)
	q.Set("region", strconv.FormatUint(region.ID, 10))
	q.Set("at", time.Unix(0, s.Interval.StartNanos).UTC().Format(time.RFC3339))
	u.RawQuery = q.Encode()
	return u.String()
}

// identity is what Alertmanager identifies an alert by: its label set.
func (a *Alert) identity() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(a.Labels)) {
		fmt.Fprintf(&b, "%q=%q ", name, a.Labels[name])
	}
	return b.String()
}
