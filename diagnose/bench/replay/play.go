package replay

import (
	"fmt"

	"github.com/giverny/giverny/diagnose/bench"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/routing"
)

// Play simulates the incident, passes every interval to the judge and returns its verdicts on regions of Low and above.
func (in *Incident) Play(judge bench.Judge) ([]bench.Verdict, error) {
	verdicts, err := in.play(judge)
	if err != nil {
		return nil, fmt.Errorf("incident %s: %w", in, err)
	}
	return verdicts, nil
}

func (in *Incident) play(judge bench.Judge) (verdicts []bench.Verdict, err error) {
	regions, err := bench.NewRegions(in.scene.graph)
	if err != nil {
		return nil, err
	}
	p := &play{in: in, reader: newReader(in), minute: minute{channels: routing.NewChannels(in.scene.graph)}}
	for m := range in.scene.length / halves {
		stall, sent, delivered, err := p.simulate(m)
		if err != nil {
			return nil, err
		}
		r := regions.Step(p.reader.snapshot(m, stall, sent))
		p.reader.show(r, m, delivered)
		judge.Step(r)
		verdicts = append(verdicts, bench.Verdicts(r, func(region *schema.Region) (t bench.Truth) {
			if err == nil {
				t, err = p.truthOf(region)
			}
			return t
		})...)
		if err != nil {
			return nil, err
		}
	}
	return verdicts, nil
}

// play is an incident being played.
type play struct {
	in     *Incident
	reader *reader
	net    *network
	of     *state // of net
	minute minute
}

// simulate runs a minute, and returns its stalls and cells by link and its cells by traffic.
func (p *play) simulate(m int) (stall, sent, delivered []float64, err error) {
	g := p.in.scene.graph
	stall, sent = make([]float64, g.NumLinks()), make([]float64, g.NumLinks())
	p.minute.half = halves * m
	for h := range halves {
		st := p.in.scene.at(halves*m + h)
		if p.minute.states[h] = st; st != p.of {
			if p.net, err = p.in.scene.network(st, noCause); err != nil {
				return nil, nil, nil, err
			}
			p.of = st
			p.net.net.Run(warmSteps)
		}
		o := p.net.measure(halfSteps)
		if delivered == nil {
			delivered = make([]float64, len(o.delivered))
		}
		addHalf(stall, o.stall)
		addHalf(sent, o.sent)
		addHalf(delivered, o.delivered)
	}
	p.minute.stall = nil
	return stall, sent, delivered, nil
}

// addHalf adds a half of a minute to its mean.
func addHalf(sum, half []float64) {
	for i, v := range half {
		sum[i] += v / halves
	}
}

// truthOf derives the truth of a region of the minute.
func (p *play) truthOf(region *schema.Region) (bench.Truth, error) {
	if p.minute.stall == nil {
		p.minute.stall = make([]float64, p.in.scene.graph.NumLinks())
		for _, st := range p.minute.states {
			o, err := p.in.scene.replay(st, noCause)
			if err != nil {
				return bench.Truth{}, err
			}
			addHalf(p.minute.stall, o.stall)
		}
	}
	return p.in.scene.truthOf(region, &p.minute)
}
