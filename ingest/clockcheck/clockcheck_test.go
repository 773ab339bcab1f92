package clockcheck_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/giverny/giverny/ingest/clockcheck"
	"github.com/giverny/giverny/schema"
)

const (
	second = int64(time.Second)
	begin  = 1_700_000_000 * second
)

// batch returns a batch with a reading at each of the given instants.
func batch(agent string, times ...int64) *schema.CounterBatch {
	b := &schema.CounterBatch{Fabric: "f", Source: "s", Agent: agent, Ports: []schema.PortName{{Device: "d", Port: "1"}}, TimeNanos: times,
		PortIndex: make([]uint32, len(times)), Columns: []schema.CounterColumn{{Name: "all"}, {Name: "some", Valid: schema.NewBitmap(len(times))}}}
	for i := range times {
		for c := range b.Columns {
			b.Columns[c].Values = append(b.Columns[c].Values, uint64(i))
		}
		if i%2 == 0 {
			b.Columns[1].Valid.Set(i)
		}
	}
	return b
}

func newChecker(correct bool) *clockcheck.Checker {
	return clockcheck.New(clockcheck.Config{CorrectClocks: correct}, time.Second)
}

func TestWhatIsBelieved(t *testing.T) {
	for _, c := range []struct {
		name         string
		offset, read int64 // of the sender's clock; of the reading, to the append time
		noHeader     bool
		want         clockcheck.Reason // 0: accepted
	}{
		{name: "right"},
		{name: "a little ahead", offset: 30 * second, read: 30 * second},
		{name: "a little behind", offset: -30 * second, read: -30 * second},
		{name: "spooled for a day", read: -86_400 * second},
		{name: "ahead", offset: 31 * second, read: 31 * second, want: clockcheck.Ahead},
		{name: "a year ahead", offset: 31_536_000 * second, read: 31_536_000 * second, want: clockcheck.Ahead},
		{name: "behind", offset: -31 * second, read: -31 * second, want: clockcheck.Behind},
		{name: "a device ahead", read: 3600 * second, want: clockcheck.Ahead},
		{name: "read by a clock ahead, sent by one in order, spooled", read: 100 * second, want: clockcheck.Ahead},
		{name: "another's producer", noHeader: true},
		{name: "another's producer, late", noHeader: true, read: -3600 * second},
		{name: "another's producer, ahead", noHeader: true, read: 3600 * second, want: clockcheck.Ahead},
	} {
		ch := newChecker(false)
		times := clockcheck.Times{SentNanos: begin + c.offset, AppendedNanos: begin}
		if c.noHeader {
			times.SentNanos = 0
		}
		b := batch("a", begin+c.read)
		got := ch.Step(b, times)
		if (got != nil) != (c.want == 0) {
			t.Errorf("%s: accepted %v", c.name, got != nil)
		}
		for _, r := range clockcheck.Reasons() {
			want := uint64(0)
			if r == c.want {
				want = 1
			}
			if n := ch.Refused(r); n != want {
				t.Errorf("%s: %d rows %s, want %d", c.name, n, r, want)
			}
		}
	}
}

func TestWithoutAWitnessAllIsBelieved(t *testing.T) {
	ch := newChecker(false)
	if b := batch("a", begin+1e18); ch.Step(b, clockcheck.Times{}) != b {
		t.Error("refused without an append time")
	}
}

// Rows of one batch are checked individually by their time, and keep their values.
func TestPartOfABatch(t *testing.T) {
	ch := newChecker(false)
	times := make([]int64, 200)
	for i := range times {
		times[i] = begin - int64(i)*second
		if i%3 == 0 {
			times[i] = begin + 3600*second
		}
	}
	b := batch("a", times...)
	for range 2 { // the memory is reused
		got := ch.Step(b, clockcheck.Times{AppendedNanos: begin, SentNanos: begin})
		if err := got.Check(); err != nil || got.Rows() != 133 {
			t.Fatalf("%d rows, %v", got.Rows(), err)
		}
		for row, value := range got.Columns[0].Values {
			if got.TimeNanos[row] != b.TimeNanos[value] || got.Columns[1].Valid.Has(row) != b.Columns[1].Valid.Has(int(value)) {
				t.Fatalf("row %d is not row %d", row, value)
			}
		}
	}
	if n := ch.Refused(clockcheck.Ahead); n != 2*67 {
		t.Errorf("%d rows refused, want 134", n)
	}
	if b.TimeNanos[0] != begin+3600*second || b.Rows() != 200 {
		t.Error("the batch was changed")
	}
}

// Changes of the state are reported once: quarantined, and right again with the third record in order.
func TestStates(t *testing.T) {
	ch := newChecker(false)
	got := map[int]clockcheck.State{}
	for i, offset := range []int64{0, 0, 3600, 3600, 0, 3600, 0, 0, 0, 0} {
		at := begin + int64(i)*second
		ch.Step(batch("a", at), clockcheck.Times{SentNanos: at + offset*second, AppendedNanos: at})
		for _, c := range ch.Changes() {
			got[i] = c.State
			if c.SeenNanos != at {
				t.Errorf("record %d: seen at %d, want %d", i, c.SeenNanos, at)
			}
		}
	}
	if want := map[int]clockcheck.State{2: clockcheck.Quarantined, 8: clockcheck.OK}; !maps.Equal(got, want) {
		t.Errorf("states by record %v, want %v", got, want)
	}
	if c := ch.Clocks(); len(c) != 1 || c[0].Rows != 3 || c[0].Agent != "a" {
		t.Errorf("clocks %+v", c)
	}
	if ch.Forget(begin + 9*second); len(ch.Clocks()) != 1 {
		t.Error("an agent that was just heard is forgotten")
	}
	if ch.Forget(begin + 10*second); len(ch.Clocks()) != 0 {
		t.Error("a silent agent is remembered")
	}
}

// A steady offset is corrected from the first record on; after a step of the clock
// it takes a few records until it is steady again.
func TestCorrection(t *testing.T) {
	ch := newChecker(true)
	rng := rand.New(rand.NewPCG(1, 2))
	offset := 3600 * second
	for i := range 200 {
		if i == 100 {
			offset = -7200 * second
		}
		at := begin + int64(i)*second
		latency := rng.Int64N(second / 10)
		got := ch.Step(batch("a", at+offset), clockcheck.Times{SentNanos: at + offset, AppendedNanos: at + latency})
		if unsteady := i == 100 || i == 101; (got == nil) != unsteady {
			t.Fatalf("record %d: accepted %v", i, got != nil)
		}
		if got != nil {
			if off := got.TimeNanos[0] - at; off < 0 || off > second/10 {
				t.Fatalf("record %d: corrected to %v off", i, time.Duration(off))
			}
		}
	}
	if c := ch.Clocks()[0]; c.State != clockcheck.Shifted || c.Rows != 2 || ch.Refused(clockcheck.Unsteady) != 2 {
		t.Errorf("%+v", c)
	}
}

// A clock that jumps about becomes steady with the third offset of about the same, and is then corrected by the largest of
// them. It keeps its correction while offsets stay near, and none after a record in order.
func TestAClockBecomesSteady(t *testing.T) {
	ch := newChecker(true)
	for i, step := range []struct {
		offset, corrected int64 // in seconds; corrected 0: not accepted
	}{
		{0, 0}, {100, 0}, {200, 0}, {300, 0}, {400, 0}, // unsteady for more records than are compared
		{500, 0}, {507, 0}, {502, 507}, // within a quarter of the tolerance of 30 s
		{500, 507}, {508, 507}, {520, 520}, {510, 520}, // later readings than the correction allows raise it
		{504, 0}, {504, 0}, {504, 504}, // beyond half the tolerance
		{0, 0}, {504, 0}, {504, 0}, {504, 504},
	} {
		at := begin + int64(i)*second
		got := ch.Step(batch("a", at+step.offset*second), clockcheck.Times{SentNanos: at + step.offset*second, AppendedNanos: at})
		switch inOrder := step.offset == 0; {
		case (got != nil) != (inOrder || step.corrected != 0):
			t.Errorf("record %d: accepted %v", i, got != nil)
		case got != nil && got.TimeNanos[0] != at+(step.offset-step.corrected)*second:
			t.Errorf("record %d: corrected by %d s, want %d", i, step.offset-(got.TimeNanos[0]-at)/second, step.corrected)
		}
	}
}

// However many names arrive, memory is bounded: of too many senders, the half that was silent longest is forgotten.
func TestSendersAreBounded(t *testing.T) {
	const most = 1 << 14
	ch := newChecker(false)
	for i := range int64(most) {
		ch.Step(batch(fmt.Sprint(i), begin), clockcheck.Times{SentNanos: begin, AppendedNanos: begin + most - i})
	}
	if n := len(ch.Clocks()); n != most {
		t.Fatalf("%d senders, want %d", n, most)
	}
	ch.Step(batch("one more", begin), clockcheck.Times{SentNanos: begin, AppendedNanos: begin})
	clocks := ch.Clocks()
	for _, c := range clocks {
		if i, err := strconv.Atoi(c.Agent); err == nil && i >= most/2 {
			t.Fatalf("sender %d, silent longer than half of the others, is remembered", i)
		}
	}
	if len(clocks) != most/2+1 {
		t.Errorf("%d senders, want %d", len(clocks), most/2+1)
	}
}

// With arbitrary clocks: no accepted reading is later than the append time plus the
// tolerance, a good clock loses nothing, and starting anywhere in the log gives the
// same decisions.
func TestRandomClocks(t *testing.T) {
	tolerance := 30 * second
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 3))
		ch, restarted := newChecker(false), newChecker(false)
		restart := rng.IntN(200)
		offsets := map[string]int64{"a": 0, "b": 0, "c": 0}
		for i := range 200 {
			at, agent := begin+int64(i)*second, []string{"a", "b", "c"}[rng.IntN(3)]
			if rng.IntN(20) == 0 && agent != "a" {
				offsets[agent] = jump(rng)
			}
			spooled := int64(0)
			if rng.IntN(4) == 0 {
				spooled = rng.Int64N(3600 * second)
			}
			b := batch(agent, at+offsets[agent]-spooled)
			times := clockcheck.Times{SentNanos: at + offsets[agent], AppendedNanos: at + rng.Int64N(second)}
			got := ch.Step(b, times)
			if got != nil && slices.Max(got.TimeNanos) > times.AppendedNanos+tolerance {
				t.Fatalf("seed %d: a reading of the future is accepted", seed)
			}
			if agent == "a" && got != b {
				t.Fatalf("seed %d: a clock in order lost readings", seed)
			}
			if i < restart {
				continue
			}
			if again := restarted.Step(b, times); (again == nil) != (got == nil) {
				t.Fatalf("seed %d: record %d is decided otherwise after a restart", seed, i)
			}
		}
	}
}

// jump returns an offset of a second to three years, either way, or none.
func jump(rng *rand.Rand) int64 {
	size := int64(float64(second) * pow10(rng.Float64()*8))
	return []int64{size, -size, 0}[rng.IntN(3)]
}

func pow10(x float64) float64 {
	v := 1.
	for ; x >= 1; x-- {
		v *= 10
	}
	return v * (1 + 9*x)
}

func TestTheHotPathAllocatesNothing(t *testing.T) {
	ch, b := newChecker(false), batch("a", begin, begin)
	if n := testing.AllocsPerRun(100, func() { ch.Step(b, clockcheck.Times{SentNanos: begin, AppendedNanos: begin}) }); n != 0 {
		t.Errorf("%v allocations for a batch of a clock in order", n)
	}
}

func TestConfig(t *testing.T) {
	c := clockcheck.Config{}
	if c.Validate() != nil || c.Tolerance(time.Second) != 30*time.Second || c.Tolerance(time.Minute) != time.Minute {
		t.Error("the defaults are off")
	}
	for _, d := range []time.Duration{-1, 25 * time.Hour} {
		if c.MaxClockOffset = d; c.Validate() == nil {
			t.Errorf("%v was taken", d)
		}
	}
}
