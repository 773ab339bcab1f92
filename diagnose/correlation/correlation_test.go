package correlation_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/giverny/giverny/diagnose/correlation"
)

func against(stall []float64) *correlation.Correlator {
	c := new(correlation.Correlator)
	c.SetLags(25)
	c.SetStall(stall)
	return c
}

// series prepares one.
func series(raw []float64) *correlation.Series {
	x := &correlation.Series{Raw: raw}
	x.Prepare()
	return x
}

// wave is a series of ones with a step to level between from and to.
func wave(n, from, to int, level float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		if x[i] = 1; i >= from && i < to {
			x[i] = level
		}
	}
	return x
}

func TestCorrelationFindsTheLag(t *testing.T) {
	stall := wave(30, 20, 27, 40)
	for _, lag := range []int{0, 1, 7, 18} {
		x := wave(55, 45-lag, 52-lag, 1e9)
		e := against(stall).Correlate(series(x))
		if e.Lag != lag || e.Correlation < .99 {
			t.Errorf("a feature %d intervals earlier: %+v", lag, e)
		}
	}
	constant := against(stall).Correlate(series(wave(55, 0, 0, 0)))
	if constant.Correlation != 0 || constant.P != 1 {
		t.Errorf("a feature that does not move: %+v", constant)
	}
	holes := wave(55, 45, 52, 1e9)
	for i := 1; i < len(holes); i += 3 {
		holes[i] = math.NaN()
	}
	if e := against(stall).Correlate(series(holes)); e.Correlation < .8 || e.Lag > 2 {
		t.Errorf("a third of the feature is missing: %+v", e)
	}
	if e := against([]float64{1, 2, 3}).Correlate(series([]float64{1, 2, 3})); e.P != 1 || e.Correlation != 0 {
		t.Errorf("three intervals: %+v", e)
	}
}

// Unrelated but smooth series correlate at some lag. The p-value must not take that for evidence: it is below a level
// no more often than that level, within the error of 400 trials.
func TestPIsHonest(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	smooth := func(n int) []float64 {
		x := make([]float64, n)
		v := 0.
		for i := range x {
			v = .8*v + rng.NormFloat64()
			x[i] = 10 + v
		}
		return x
	}
	const trials = 400
	strong, below5, below20 := 0, 0, 0
	for range trials {
		c := against(smooth(30))
		x := series(smooth(55))
		e := c.Correlate(x)
		c.Assess(x, &e)
		if e.Correlation > .5 {
			strong++
		}
		if e.P <= .05 {
			below5++
		}
		if e.P <= .2 {
			below20++
		}
	}
	if strong < trials/3 {
		t.Errorf("only %d of %d chance correlations are above .5: the test is too easy", strong, trials)
	}
	if below5 > trials/10 || below20 > trials*3/10 {
		t.Errorf("p <= .05 in %d and p <= .2 in %d of %d trials without any relation (%d correlations above .5)", below5, below20, trials, strong)
	}
}
