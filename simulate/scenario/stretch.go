package scenario

import "time"

// Stretch changes the duration of a story: all its times scale in proportion, except
// the devices' reporting interval. A Workload draws its own times, which do not scale.
func (s *Script) Stretch(duration time.Duration) {
	by := func(d *time.Duration) {
		*d = time.Duration(float64(*d) * float64(duration) / float64(s.Duration)).Round(s.Interval / 10)
	}
	by(&s.Fabric.RerouteAfter)
	for i := range s.Jobs {
		j := &s.Jobs[i]
		by(&j.Start)
		by(&j.End)
		for k := range j.Traffic {
			f := &j.Traffic[k]
			for _, d := range []*time.Duration{&f.From, &f.To, &f.Ramp, &f.Period, &f.Active, &f.Offset} {
				by(d)
			}
		}
	}
	for i := range s.Events {
		e := &s.Events[i]
		by(&e.After)
		by(&e.For)
		by(&e.Period)
		by(&e.Down)
	}
	s.Duration = duration
}
