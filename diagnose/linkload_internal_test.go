package diagnose

import (
	"testing"
)

// TestRatiosThatAreNotKnown: a ratio that is not known is neither above nor below anything, and no evidence.
func TestRatiosThatAreNotKnown(t *testing.T) {
	var unknown ratio
	one := ratio{1, true}
	if unknown.isAbove(0) || unknown.isBelow(1) || unknown.atLeast(0) || unknown.doublings() != 0 {
		t.Error("it is compared")
	}
	if got := unknown.orMore(one); got != one {
		t.Errorf("with one that is known: %+v", got)
	}
	if got := one.orMore(unknown); got != one {
		t.Errorf("beside one that is known: %+v", got)
	}
	if got := one.orMore(ratio{2, true}); got.times != 2 {
		t.Errorf("the greater is %+v", got)
	}
	if !one.atLeast(1) || one.isAbove(1) || one.isBelow(1) || (ratio{8, true}).doublings() != mostDoublings {
		t.Error("a known ratio is not compared by its value")
	}
	if idle := percentOf(0); !idle.known || percentOf(-1).known || percentOf(-1).orZero() != 0 {
		t.Errorf("an idle link: %+v, one that was not read: %+v", idle, percentOf(-1))
	}
}
