package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/fluid"
	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/topology"
)

// scheduledAction is a script event resolved on the fabric: a single instantaneous action.
type scheduledAction struct {
	after    time.Duration
	do       Action
	undo     bool // of SlowLink, SlowHost, Throttle
	channels []routing.Channel
	device   topology.DeviceID
	share    float64
	text     string // of Say
}

// resolve looks up the objects of the events, and expands those that last or repeat.
func resolve(script *Script, channels *routing.Channels) ([]scheduledAction, error) {
	var actions []scheduledAction
	for i := range script.Events {
		e := &script.Events[i]
		if e.Say != "" {
			actions = append(actions, scheduledAction{after: e.After, text: e.Say})
		}
		if e.Do == Say {
			continue
		}
		d := scheduledAction{after: e.After, do: e.Do, share: e.Percent / 100}
		if err := d.find(e, channels); err != nil {
			return nil, fmt.Errorf("event after %s: %w", e.After, err)
		}
		actions = append(actions, d.overTime(e)...)
	}
	slices.SortStableFunc(actions, func(a, b scheduledAction) int { return int(a.after - b.after) })
	return actions, nil
}

func (d *scheduledAction) find(e *Event, channels *routing.Channels) error {
	g := channels.Graph()
	switch e.Do {
	case FailLink, RestoreLink, FlapLink, SlowLink:
		ch, err := channels.Find(e.Object)
		if err != nil {
			return err
		}
		d.device, _ = channels.Ends(ch)
		d.channels = cable(channels, ch)
	case FailSwitch, RestoreSwitch, SlowHost:
		device, ok := g.FindDevice(e.Object)
		if !ok {
			return fmt.Errorf("fabric %q has no device %q; %s", g.Fabric(), e.Object, g.Hint(e.Object))
		}
		d.device = device
		if e.Do != SlowHost {
			for _, l := range g.LinksAt(device) {
				d.channels = append(d.channels, channels.Of(l)...)
			}
		}
	}
	return nil
}

// cable lists both channels of the cable that contains ch.
func cable(channels *routing.Channels, ch routing.Channel) []routing.Channel {
	both := []routing.Channel{ch}
	name := channels.Name(ch)
	i := strings.LastIndexByte(name, ' ')
	from, _ := channels.Ends(ch)
	if _, back := channels.Ports(from, name[i+1:]); back != routing.NoChannel {
		both = append(both, back)
	}
	return both
}

// overTime adds the end of an action that lasts, and the failures of a flapping link.
func (d scheduledAction) overTime(e *Event) []scheduledAction {
	switch d.do {
	case FlapLink:
		var all []scheduledAction
		for at := time.Duration(0); at < e.For; at += e.Period {
			fail, restore := d, d
			fail.do, fail.after = FailLink, e.After+at
			restore.do, restore.after = RestoreLink, e.After+at+e.Down
			all = append(all, fail, restore)
		}
		return all
	case RestoreLink, RestoreSwitch:
		return []scheduledAction{d}
	}
	if e.For == 0 {
		return []scheduledAction{d}
	}
	end := d
	end.after += e.For
	switch d.do {
	case FailLink:
		end.do = RestoreLink
	case FailSwitch:
		end.do = RestoreSwitch
	default:
		end.undo = true
	}
	return []scheduledAction{d, end}
}

// act performs a scheduledAction, and records the events that a log would contain.
func (r *Runner) act(d *scheduledAction, now time.Duration) {
	event := schema.Event{TimeNanos: r.nanos(now), Fabric: r.graph.Fabric()}
	if d.do != Throttle && d.do != Say {
		event.Device = r.graph.Device(d.device).Name
	}
	if len(d.channels) > 0 && (d.do == FailLink || d.do == RestoreLink) {
		event.Port = strings.TrimPrefix(r.channels.Name(d.channels[0]), event.Device+" ")
	}
	switch d.do {
	case Say:
		event.Kind, event.Detail = schema.Story, d.text
	case FailLink, FailSwitch:
		event.Kind, event.Detail = schema.LinkFailed, "link down"
		if d.do == FailSwitch {
			event.Kind, event.Detail = schema.SwitchFailed, "switch down"
			if !r.graph.IsSwitch(d.device) {
				event.Kind, event.Detail = schema.NodeFailed, "node down"
			}
			r.source.SetDown(d.device, true)
			r.killJobsOn(d.device, now)
		}
		r.setUp(d, false)
		r.rerouteAt = now + r.script.Fabric.RerouteAfter
	case RestoreLink, RestoreSwitch:
		event.Kind, event.Detail = schema.LinkRestored, "link up"
		if d.do == RestoreSwitch {
			event.Kind, event.Detail = schema.SwitchRestored, "switch up"
			if !r.graph.IsSwitch(d.device) {
				event.Kind, event.Detail = schema.NodeRestored, "node up"
			}
			r.source.SetDown(d.device, false)
		}
		r.setUp(d, true)
		r.rerouteAt = now
	case SlowLink, SlowHost:
		r.slow(d)
		return
	case Throttle:
		r.throttle(!d.undo, now, "by hand")
		return
	}
	if d.do == Say {
		r.events = append(r.events, event)
		return
	}
	r.logFailure(event)
}

// logFailure adds an event of the fabric's own log.
func (r *Runner) logFailure(e schema.Event) {
	r.events = append(r.events, e)
	r.failures = append(r.failures, schema.Failure{Fabric: e.Fabric, Time: schema.Instant(e.TimeNanos), Kind: e.Kind,
		Device: e.Device, Port: e.Port, Detail: e.Detail})
}

// setUp breaks the channels of an action, or undoes earlier failures of the same link
// or switch; a channel held down by another failure stays down.
func (r *Runner) setUp(d *scheduledAction, up bool) {
	for _, ch := range d.channels {
		if up {
			r.failed[ch] = slices.DeleteFunc(r.failed[ch], d.ends)
		} else {
			r.failed[ch] = append(r.failed[ch], d)
		}
		if len(r.failed[ch]) == 0 {
			delete(r.failed, ch)
		}
		r.channels.SetUp(ch, len(r.failed[ch]) == 0)
	}
}

// ends reports whether an action ends a failure.
func (d *scheduledAction) ends(failure *scheduledAction) bool {
	if d.do == RestoreLink {
		return failure.do == FailLink
	}
	return failure.do == FailSwitch && failure.device == d.device
}

// slow reduces a link or the receiving side of a host to a share of its rate, or
// restores it. No log shows this.
func (r *Runner) slow(d *scheduledAction) {
	share := d.share
	if d.undo {
		share = 1
	}
	if d.do == SlowHost {
		r.setSlow(r.model.Receive(d.device), share)
		return
	}
	for _, ch := range d.channels {
		r.setSlow(resourceOf(ch), share)
	}
}

func (r *Runner) setSlow(res fluid.Resource, share float64) {
	r.model.SetShare(res, share)
	if share < 1 {
		r.slowed[res] = share
	} else {
		delete(r.slowed, res)
	}
}

func resourceOf(ch routing.Channel) fluid.Resource { return fluid.Resource(ch) }
