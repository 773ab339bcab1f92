package scenario

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// Pattern is the communication pattern within a job.
type Pattern string

// Patterns.
const (
	Halo      Pattern = "halo"        // to the neighbours in the job's box, or in a cube of its ranks
	Ring      Pattern = "ring"        // to the next rank
	Shift     Pattern = "shift"       // to the rank at the given distance
	Opposite  Pattern = "opposite"    // to the rank half-way round: all traffic crosses the middle
	Random    Pattern = "random"      // to one other rank each, a permutation
	AllToAll  Pattern = "all_to_all"  // to every other rank; beyond 48 ranks, to 24 spread evenly
	ManyToOne Pattern = "many_to_one" // to the target
	ReadFS    Pattern = "read"        // from the storage nodes
	WriteFS   Pattern = "write"       // to the storage nodes
)

var patterns = []Pattern{Halo, Ring, Shift, Opposite, Random, AllToAll, ManyToOne, ReadFS, WriteFS}

// Traffic is one kind of traffic of a job, with its times.
type Traffic struct {
	Pattern            Pattern       `yaml:"pattern"`
	GigabytesPerSecond float64       `yaml:"gigabytes_per_second"`
	From               time.Duration `yaml:"from"`
	To                 time.Duration `yaml:"to"`
	Ramp               time.Duration `yaml:"ramp"`
	Period             time.Duration `yaml:"period"`
	Active             time.Duration `yaml:"active"`
	Offset             time.Duration `yaml:"offset"`
	WavePercent        float64       `yaml:"wave_percent"`
	Distance           int           `yaml:"distance"`
	Target             int           `yaml:"target"`
	Stripes            int           `yaml:"stripes"`
}

func (t *Traffic) validate() error {
	var errs []error
	if !slices.Contains(patterns, t.Pattern) {
		errs = append(errs, fmt.Errorf("pattern %q: want one of %q", t.Pattern, patterns))
	}
	if !(t.GigabytesPerSecond > 0) || math.IsInf(t.GigabytesPerSecond, 0) {
		errs = append(errs, fmt.Errorf("pattern %s: gigabytes_per_second %v: want more than 0", t.Pattern, t.GigabytesPerSecond))
	}
	if (t.Period > 0) != (t.Active > 0) || t.Active > t.Period || t.Offset < 0 {
		errs = append(errs, fmt.Errorf("pattern %s: want period and active together, active up to period", t.Pattern))
	}
	if t.Pattern == Shift && t.Distance < 1 {
		errs = append(errs, errors.New("pattern shift: want a distance of 1 or more"))
	}
	if t.Target < 0 {
		errs = append(errs, fmt.Errorf("pattern %s: target %d: want a rank, from 0", t.Pattern, t.Target))
	}
	if !(t.WavePercent >= 0 && t.WavePercent <= 100) {
		errs = append(errs, fmt.Errorf("pattern %s: wave_percent %v: want 0 to 100", t.Pattern, t.WavePercent))
	}
	return errors.Join(errs...)
}

// wavePeriod is the shortest period of slowly varying traffic; a wave's period is up to
// twice as long.
const wavePeriod = 7 * time.Minute

// scale is the traffic's share of its rate at an age of its job, 0 to 1 or slightly
// more at the crest of a wave. The phase, 0 to 1, distinguishes waves. In short stories
// the period is shortened to a third of the job's life.
func (t *Traffic) scale(age, life time.Duration, phase float64) float64 {
	if age < t.From || t.To > 0 && age >= t.To {
		return 0
	}
	if t.Period > 0 && (age-t.From+t.Period-t.Offset%t.Period)%t.Period >= t.Active {
		return 0
	}
	s := 1.
	if since := age - t.From; since < t.Ramp {
		s = float64(since) / float64(t.Ramp)
	}
	if t.WavePercent > 0 {
		period := float64(min(wavePeriod, life/3)) * (1 + phase)
		s *= 1 + t.WavePercent/100*math.Sin(2*math.Pi*(float64(age)/period+phase))
	}
	return s
}
