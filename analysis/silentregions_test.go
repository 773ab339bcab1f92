package analysis_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/scenario"
)

// hotStories congest a small part of a fabric with traffic to one host.
var hotStories = map[string]struct{ fabric, job string }{
	"torus":    {`{name: f, topology: "torus:6x6x4", kind: gemini}`, `at: [0,0,0], size: [3,3,3]`},
	"fat tree": {`{name: f, topology: "fattree:leaves=12,hosts=4,spines=4", kind: infiniband}`, `hosts: "0-15"`},
}

const hotStory = `
name: hot
about: The switches of a congested region stop to report.
fabric: %s
interval: 10s
duration: 6m
jobs: [{id: "1", name: sender, %s, traffic: [{pattern: many_to_one, gigabytes_per_second: 4}]}]
events: [%s]
`

// While the switches of a congested region report nothing, the state is unknown; it is known when they report again, and
// once their failure is reported. A restart in between changes nothing.
func TestASilentRegionIsNotCalm(t *testing.T) {
	const from, to = 10, 25 // intervals
	for name, story := range hotStories {
		script := func(events ...string) *scenario.Script {
			return readScript(t, fmt.Sprintf(hotStory, story.fabric, story.job, strings.Join(events, ", ")), "hot")
		}
		loud := play(t, script(), nil)
		hot := hotDevices(loud, from-1)
		t.Run(name+" silent", func(t *testing.T) {
			p := play(t, script(), func(step *scenario.Step) {
				step.Events, step.Failures = nil, nil
				for i := range step.Batches {
					for _, device := range hot {
						step.Batches[i] = without(step.Batches[i], device, loud.results[from].Snapshot.Interval.StartNanos, loud.results[to].Snapshot.Interval.StartNanos, false)
					}
				}
			})
			for i, r := range p.results {
				silent := i >= from-1 && i < to // the rates of the last interval need a reading after it
				if (r.Network.Unknown != nil) != silent {
					t.Errorf("interval %d: %s", i, r.Network.StateName())
				}
			}
			resumed := p.resumed(t, from+3)
			for i := from + 3; i < len(p.steps); i++ {
				for _, r := range feed(t, resumed, &p.steps[i]) {
					if want := p.results[i].Network.StateName(); r.Network.StateName() != want {
						t.Errorf("interval %d after a restart: %s, want %s", i, r.Network.StateName(), want)
					}
				}
			}
		})
		t.Run(name+" failed", func(t *testing.T) {
			var events []string
			var failures []schema.Failure
			for _, device := range hot {
				events = append(events, fmt.Sprintf("{after: %ds, do: fail_switch, object: %q}", 10*from, device))
				kind := schema.SwitchFailed
				if strings.HasPrefix(device, "host") {
					kind = schema.NodeFailed
				}
				failures = append(failures, schema.Failure{Fabric: "f", Kind: kind, Device: device, Time: schema.Instant(loud.results[from+1].Snapshot.Interval.StartNanos)})
			}
			p := play(t, script(events...), func(step *scenario.Step) {
				step.Events = nil
				if step.Failures = nil; step.Interval.Contains(int64(failures[0].Time)) {
					step.Failures = failures
				}
			})
			for i, r := range p.results {
				if r.Network.Unknown != nil && i != from { // where it is reported only later
					t.Errorf("interval %d: %s, though all silent switches failed", i, r.Network.StateName())
				}
			}
		})
	}
}

// hotDevices are the devices that read the links of the Medium and High regions of an interval.
func hotDevices(p *played, interval int) (names []string) {
	for _, r := range p.results[interval].Regions {
		for _, l := range r.Links {
			if name := p.graph.Device(p.graph.Link(l).From).Name; r.Severity >= schema.Medium && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
