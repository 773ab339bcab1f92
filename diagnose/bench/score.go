package bench

import (
	"math"
	"slices"
	"time"

	"github.com/giverny/giverny/schema"
)

// Share is a part of a whole.
type Share struct{ Right, Of float64 }

func (s *Share) add(right bool) {
	s.Of++
	if right {
		s.Right++
	}
}

// Part is the share, 0 to 1; NaN of nothing.
func (s Share) Part() float64 { return s.Right / s.Of }

// Error is the standard error of Part for independent incidents.
func (s Share) Error() float64 {
	p := s.Part()
	return math.Sqrt(p * (1 - p) / s.Of)
}

// Bins is the number of confidence bins in a reliability diagram.
const Bins = 10

// Bin sums up the verdicts with a confidence in one tenth.
type Bin struct{ Weight, Confidence, Right float64 }

// Score sums up verdicts. Every incident has the same weight in each share, however many regions and intervals it has.
type Score struct {
	Incidents  int
	Verdicts   int   // on regions with a known cause
	Class      Share // class is right
	Job        Share // first accused job is right, where a job is to blame
	Root       Share // port or host is right, where one can be named
	RootDevice Share // device is right
	FalseBlame Share // a job is accused where none is to blame
	Reported   Share // regions with a verdict
	Bins       [Bins]Bin
	Delays     []float64 // by incident with a region: intervals from its first region to the first verdict with class and job right, +Inf if never
	Confusion  map[[2]schema.CauseClass]float64
}

// Add adds the verdicts on one incident.
func (s *Score) Add(verdicts []Verdict) {
	verdicts = slices.DeleteFunc(slices.Clone(verdicts), func(v Verdict) bool { return !v.Truth.Scored })
	s.Incidents++
	if s.Confusion == nil {
		s.Confusion = map[[2]schema.CauseClass]float64{}
	}
	if len(verdicts) == 0 {
		return
	}
	s.Verdicts += len(verdicts)
	var one Score
	for i := range verdicts {
		one.judge(&verdicts[i])
	}
	for _, part := range []struct {
		sum *Share
		of  Share
	}{{&s.Class, one.Class}, {&s.Job, one.Job}, {&s.Root, one.Root}, {&s.RootDevice, one.RootDevice}, {&s.FalseBlame, one.FalseBlame}, {&s.Reported, one.Reported}} {
		if part.of.Of > 0 {
			part.sum.Right += part.of.Part()
			part.sum.Of++
		}
	}
	weight := 1 / float64(len(verdicts))
	for b, bin := range one.Bins {
		s.Bins[b].Weight += bin.Weight * weight
		s.Bins[b].Confidence += bin.Confidence * weight
		s.Bins[b].Right += bin.Right * weight
	}
	for i := range verdicts {
		s.Confusion[[2]schema.CauseClass{verdicts[i].Truth.Classes[0], verdicts[i].Got.Cause.Class}] += weight
	}
	s.Delays = append(s.Delays, delay(verdicts))
}

func (s *Score) judge(v *Verdict) {
	got, truth := &v.Got, &v.Truth
	right := v.ClassRight()
	s.Class.add(right)
	s.Reported.add(got.Cause.Class != "")
	if len(truth.Jobs) == 0 {
		s.FalseBlame.add(len(got.Jobs) > 0)
	} else if truth.onlyJobs() {
		s.Job.add(v.JobRight())
	}
	if len(truth.Roots) > 0 {
		s.Root.add(v.rootRight(true))
		s.RootDevice.add(v.rootRight(false))
	}
	b := &s.Bins[max(0, min(Bins-1, int(got.Cause.Confidence*Bins)))]
	b.Weight++
	b.Confidence += got.Cause.Confidence
	if right {
		b.Right++
	}
}

// onlyJobs reports whether nothing but a job is a right answer.
func (t *Truth) onlyJobs() bool {
	return !slices.ContainsFunc(t.Classes, func(c schema.CauseClass) bool {
		return c != schema.CauseSystem && c != schema.CauseIntraApplication
	})
}

// After is the time from the incident's start, not its onset, to the verdict's interval.
func (v *Verdict) After() time.Duration {
	return time.Duration(v.Interval.StartNanos - StartNanos)
}

// ClassRight reports whether the class is a right answer.
func (v *Verdict) ClassRight() bool { return slices.Contains(v.Truth.Classes, v.Got.Cause.Class) }

// JobRight reports whether the first accused job is a right answer.
func (v *Verdict) JobRight() bool {
	return len(v.Got.Jobs) > 0 && slices.Contains(v.Truth.Jobs, v.Got.Jobs[0].JobID)
}

// RootRight reports whether the root is a right answer, including the port.
func (v *Verdict) RootRight() bool { return v.rootRight(true) }

func (v *Verdict) rootRight(withPort bool) bool {
	root := v.Got.Root
	return root != nil && slices.ContainsFunc(v.Truth.Roots, func(p Place) bool {
		return root.Device == p.Device && (!withPort || p.Port == "" || root.Port == p.Port) || p.Port == "" && root.Peer == p.Device
	})
}

// delay is the number of intervals from the first region to the first right verdict.
func delay(verdicts []Verdict) float64 {
	first := verdicts[0].Interval
	for i := range verdicts {
		if v := &verdicts[i]; v.ClassRight() && (len(v.Truth.Jobs) == 0 || v.JobRight()) {
			return float64((v.Interval.StartNanos - first.StartNanos) / first.DurationNanos)
		}
	}
	return math.Inf(1)
}

// CalibrationError is the expected calibration error: the mean over verdicts of the distance between the confidence of
// a bin and its share of right verdicts (Naeini, Cooper, Hauskrecht, AAAI 2015).
func (s *Score) CalibrationError() float64 {
	off, all := 0., 0.
	for _, b := range s.Bins {
		off += math.Abs(b.Confidence - b.Right)
		all += b.Weight
	}
	return off / all
}

// Delay is the number of intervals within which a share of the incidents has a right verdict.
func (s *Score) Delay(share float64) float64 {
	if len(s.Delays) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(s.Delays))
	return sorted[min(len(sorted)-1, int(share*float64(len(sorted))))]
}

// Merge adds the sums of another score.
func (s *Score) Merge(o *Score) {
	s.Incidents, s.Verdicts = s.Incidents+o.Incidents, s.Verdicts+o.Verdicts
	for _, p := range [][2]*Share{{&s.Class, &o.Class}, {&s.Job, &o.Job}, {&s.Root, &o.Root}, {&s.RootDevice, &o.RootDevice}, {&s.FalseBlame, &o.FalseBlame}, {&s.Reported, &o.Reported}} {
		p[0].Right, p[0].Of = p[0].Right+p[1].Right, p[0].Of+p[1].Of
	}
	for i := range s.Bins {
		s.Bins[i].Weight += o.Bins[i].Weight
		s.Bins[i].Confidence += o.Bins[i].Confidence
		s.Bins[i].Right += o.Bins[i].Right
	}
	s.Delays = append(s.Delays, o.Delays...)
	if s.Confusion == nil {
		s.Confusion = map[[2]schema.CauseClass]float64{}
	}
	for k, v := range o.Confusion {
		s.Confusion[k] += v
	}
}
