package scenario

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/giverny/giverny/internal/yamldoc"
	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/simulate/telemetry"
)

// Script is a story, as read from YAML.
type Script struct {
	Name       string        `yaml:"name"`
	About      string        `yaml:"about"`
	Fabric     Fabric        `yaml:"fabric"`
	Interval   time.Duration `yaml:"interval"`
	Step       time.Duration `yaml:"step"`
	Duration   time.Duration `yaml:"duration"`
	Telemetry  Telemetry     `yaml:"telemetry"`
	Protection *Protection   `yaml:"protection"`
	Workload   *Workload     `yaml:"workload"`
	Jobs       []Job         `yaml:"jobs"`
	Events     []Event       `yaml:"events"`
}

// Fabric is the fabric of the story.
type Fabric struct {
	Name                      string         `yaml:"name"`
	Topology                  string         `yaml:"topology"`
	Kind                      telemetry.Kind `yaml:"kind"`
	Routing                   routing.Policy `yaml:"routing"`
	SendGigabytesPerSecond    float64        `yaml:"send_gigabytes_per_second"`
	ReceiveGigabytesPerSecond float64        `yaml:"receive_gigabytes_per_second"`
	VictimRatio               float64        `yaml:"victim_ratio"`
	RerouteAfter              time.Duration  `yaml:"reroute_after"`
	Storage                   Storage        `yaml:"storage"`
}

// Storage selects the file system nodes: those listed, and every Every-th, beginning
// with First. They run no jobs.
type Storage struct {
	Every int    `yaml:"every"`
	First int    `yaml:"first"`
	Hosts string `yaml:"hosts"`
}

// Telemetry overrides the defaults of the hardware kind; see telemetry.Config.
type Telemetry struct {
	FloorPercent  *float64 `yaml:"floor_percent"`
	WavePercent   *float64 `yaml:"wave_percent"`
	SpreadPercent *float64 `yaml:"spread_percent"`
	LossPercent   float64  `yaml:"loss_percent"`
	LatePercent   float64  `yaml:"late_percent"`
	SkewMillis    float64  `yaml:"skew_millis"`
}

// Protection is the fabric's congestion protection (Monet, section 2.2): when at least
// Links links stall for HighPercent of the time or more, all NICs together may send
// only as much as one can receive, until Hold has passed and fewer than Links links
// stall for LowPercent.
type Protection struct {
	HighPercent float64       `yaml:"high_percent"`
	LowPercent  float64       `yaml:"low_percent"`
	Links       int           `yaml:"links"`
	Hold        time.Duration `yaml:"hold"`
}

// Job is an allocation with its traffic.
type Job struct {
	ID      string        `yaml:"id"`
	Name    string        `yaml:"name"`
	User    string        `yaml:"user"`
	At      []int         `yaml:"at"`
	Size    []int         `yaml:"size"`
	Hosts   string        `yaml:"hosts"`
	Nodes   int           `yaml:"nodes"`
	Start   time.Duration `yaml:"start"`
	End     time.Duration `yaml:"end"`
	Traffic []Traffic     `yaml:"traffic"`
}

// Event is a timed action, or a line of the story.
type Event struct {
	After   time.Duration `yaml:"after"`
	Do      Action        `yaml:"do"`
	Object  string        `yaml:"object"`
	For     time.Duration `yaml:"for"`
	Percent float64       `yaml:"percent"`
	Period  time.Duration `yaml:"period"`
	Down    time.Duration `yaml:"down"`
	Say     string        `yaml:"say"`
}

// Action is what an event does.
type Action string

// Actions.
const (
	Say           Action = "" // only its line
	FailLink      Action = "fail_link"
	RestoreLink   Action = "restore_link"
	FlapLink      Action = "flap_link"
	SlowLink      Action = "slow_link" // to a percentage of its capacity
	FailSwitch    Action = "fail_switch"
	RestoreSwitch Action = "restore_switch"
	SlowHost      Action = "slow_host" // receives at a percentage of its rate
	Throttle      Action = "throttle"  // manual congestion protection
)

var actions = []Action{Say, FailLink, RestoreLink, FlapLink, SlowLink, FailSwitch, RestoreSwitch, SlowHost, Throttle}

// Read reads a script and sets defaults; name is for error messages.
func Read(r io.Reader, name string) (*Script, error) {
	s := &Script{}
	d := yaml.NewDecoder(r)
	d.KnownFields(true)
	if err := d.Decode(s); errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("scenario %s: it is empty; want a story such as those of giverny simulate stories", name)
	} else if err != nil {
		return nil, fmt.Errorf("scenario %s: %w", name, err)
	}
	if err := yamldoc.End(d, "give each story a file"); err != nil {
		return nil, fmt.Errorf("scenario %s: %w", name, err)
	}
	s.fillIn(name)
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("scenario %s: %w", name, err)
	}
	return s, nil
}

func (s *Script) fillIn(name string) {
	fill(&s.Name, name)
	fill(&s.Fabric.Name, "gemini")
	fill(&s.Fabric.Topology, "torus:8x8x8")
	fill(&s.Fabric.VictimRatio, 2)
	if s.Fabric.Kind == "" {
		s.Fabric.Kind = telemetry.InfiniBand
		if strings.HasPrefix(s.Fabric.Topology, "torus") || strings.HasPrefix(s.Fabric.Topology, "mesh") {
			s.Fabric.Kind = telemetry.Gemini
		}
	}
	fill(&s.Interval, time.Minute)
	fill(&s.Step, s.Interval)
	fill(&s.Duration, time.Hour)
	if w := s.Workload; w != nil {
		fill(&w.GigabytesPerSecond, .3)
	}
	if p := s.Protection; p != nil {
		fill(&p.HighPercent, 40)
		fill(&p.LowPercent, 10)
		fill(&p.Links, 50)
	}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		fill(&j.ID, fmt.Sprint(i+1))
		fill(&j.Name, "job "+j.ID)
		fill(&j.User, "user")
		fill(&j.End, s.Duration)
	}
}

func fill[T comparable](field *T, otherwise T) {
	var zero T
	if *field == zero {
		*field = otherwise
	}
}

// Validate joins all errors that can be found without the fabric.
func (s *Script) Validate() error {
	var errs []error
	fault := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	fault(s.Interval >= time.Second, "interval %s: want 1s or more", s.Interval)
	fault(s.Step > 0 && s.Interval%s.Step == 0, "step %s: want a duration that divides the interval %s", s.Step, s.Interval)
	fault(s.Duration >= s.Interval, "duration %s: want at least one interval of %s", s.Duration, s.Interval)
	f := &s.Fabric
	fault(f.SendGigabytesPerSecond >= 0, "send_gigabytes_per_second %v: want more than 0", f.SendGigabytesPerSecond)
	fault(f.ReceiveGigabytesPerSecond >= 0, "receive_gigabytes_per_second %v: want more than 0", f.ReceiveGigabytesPerSecond)
	fault(f.Storage.Every >= 0 && f.Storage.First >= 0, "storage: every %d, first %d: want 0 or more", f.Storage.Every, f.Storage.First)
	if p := s.Protection; p != nil {
		fault(p.HighPercent > p.LowPercent && p.LowPercent > 0 && p.HighPercent <= 100, "protection: want 0 < low_percent < high_percent <= 100")
	}
	if w := s.Workload; w != nil {
		errs = append(errs, w.validate())
	}
	ids := map[string]bool{}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		fault(!ids[j.ID], "job %q is duplicated", j.ID)
		ids[j.ID] = true
		errs = append(errs, j.validate())
	}
	for _, e := range s.Events {
		errs = append(errs, e.validate())
	}
	return errors.Join(errs...)
}

func (j *Job) validate() error {
	var errs []error
	if j.End <= j.Start {
		errs = append(errs, fmt.Errorf("job %q: end %s is not after start %s", j.ID, j.End, j.Start))
	}
	places := 0
	for _, given := range []bool{j.Size != nil, j.Hosts != "", j.Nodes > 0} {
		if given {
			places++
		}
	}
	if places != 1 || (j.At == nil) != (j.Size == nil) || len(j.At) != len(j.Size) {
		errs = append(errs, fmt.Errorf("job %q: give its place by at and size, hosts, or nodes", j.ID))
	}
	for i := range j.Traffic {
		if err := j.Traffic[i].validate(); err != nil {
			errs = append(errs, fmt.Errorf("job %q: %w", j.ID, err))
		}
	}
	return errors.Join(errs...)
}

func (e *Event) validate() error {
	var errs []error
	if !slices.Contains(actions, e.Do) {
		errs = append(errs, fmt.Errorf("event after %s: do %q: want one of %q", e.After, e.Do, actions[1:]))
	}
	if needs := e.Do != Say && e.Do != Throttle; needs != (e.Object != "") {
		errs = append(errs, fmt.Errorf("event after %s: %s with object %q: only links and devices can be objects", e.After, e.Do, e.Object))
	}
	if e.Do == FlapLink && !(e.Down > 0 && e.Period > e.Down && e.For > 0) {
		errs = append(errs, fmt.Errorf("event after %s: flap_link: want for, and 0 < down < period", e.After))
	}
	if slows := e.Do == SlowLink || e.Do == SlowHost; slows != (e.Percent > 0) || e.Percent > 100 {
		errs = append(errs, fmt.Errorf("event after %s: percent %v: want more than 0, up to 100, of slow_link and slow_host only", e.After, e.Percent))
	}
	if e.After < 0 || e.For < 0 {
		errs = append(errs, fmt.Errorf("event after %s: times cannot be negative", e.After))
	}
	return errors.Join(errs...)
}
