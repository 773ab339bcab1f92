package window

// Reason says why an input did not become part of a value.
type Reason uint8

// Reasons. The counts are of rows, unless stated otherwise.
const (
	sound          Reason = iota // no reason: the input is good
	UnknownPort                  // the graph has no such port
	UnknownCounter               // columns: the counter is not in the table; the caller may keep it raw
	BadTime                      // outside the supported years
	Late                         // the interval has closed; the reading only serves as the start of a later difference
	Early                        // too far ahead of the open interval, or of the present time
	ClockSkew                    // the device's clock is too far off
	ClockBack                    // the port's clock was set back before the row: no difference reaches from before to after it
	TwoReaders                   // another agent reads the port too, by a clock that differs; only one of them is used
	Duplicate                    // readings: there is one of that instant already; of derived percentages the larger counts
	OutOfOrder                   // readings: older than all that are still held of the counter
	Saturated                    // differences: a reading at the maximum of a saturating counter, or of 32 bits of a wider one
	Reset                        // differences: the counter was reset in between, or fell and recovered
	Gap                          // differences: the readings are too far apart
	Implausible                  // values: more than 110 percent; differences: far more than the link can carry
	NoTick                       // values: the length of the port's tick is unknown
	NoLink                       // values: no link on that side of the port
	Jump                         // jumps in time that are too long for empty snapshots
	numReasons
)

var reasonNames = [numReasons]string{
	UnknownPort: "unknown_port", UnknownCounter: "unknown_counter", BadTime: "bad_time", Late: "late", Early: "early", ClockSkew: "clock_skew",
	ClockBack: "clock_back", TwoReaders: "two_readers", Duplicate: "duplicate", OutOfOrder: "out_of_order", Saturated: "saturated", Reset: "reset", Gap: "gap",
	Implausible: "implausible", NoTick: "no_tick", NoLink: "no_link", Jump: "jump",
}

// Reasons lists all reasons.
func Reasons() []Reason {
	all := make([]Reason, 0, numReasons-1)
	for r := UnknownPort; r < numReasons; r++ {
		all = append(all, r)
	}
	return all
}

// String returns the reason as a metric label.
func (r Reason) String() string { return reasonNames[r] }
