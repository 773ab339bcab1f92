package diagnose_test

import (
	"testing"

	"github.com/giverny/giverny/schema"
)

// TestTheSecondStepOfAStallIsNotItsOnset: a region that is first found when its stall rises again, while its links
// carry what they did, is that of the job that began to move more when the stall first rose, unless something broke at
// the second rise.
func TestTheSecondStepOfAStallIsNotItsOnset(t *testing.T) {
	for name, c := range map[string]struct {
		fails bool
		class schema.CauseClass
	}{
		"nothing happens": {false, schema.CauseIntraApplication},
		"a cable fails":   {true, schema.CauseFailure},
	} {
		p := newPlant(t, "torus:8x8x8")
		region := p.within(neighbours(p))
		p.hasUse = true
		p.step(12)
		p.moved["1"] = 6000 * usual
		for _, l := range region {
			p.use[l], p.stall[l] = 40, 15
		}
		p.step(14)
		if c.fails {
			p.fails(schema.LinkFailed, "1,1,1", "X+")
			p.use[p.link("1,1,1", "X+")] = 0
		}
		p.congest(50, region...)
		for after := range 20 {
			if d := p.step(1)[0]; d.Cause.Class != c.class {
				t.Fatalf("%s, %d intervals after the second step: %s: %s", name, after, d.Cause.Class, d.Text)
			}
		}
	}
}
