package window

// Reason says why something that went in did not become part of a value.
type Reason uint8

// Reasons. What is counted is rows, unless a reason says otherwise.
const (
	sound          Reason = iota // no reason: all is well
	UnknownPort                  // the graph has no such port
	UnknownCounter               // columns: the counter is not in the table; the caller may keep it raw
	BadTime                      // outside the years that can be reckoned with
	Late                         // the interval was closed; the reading only serves as the start of a later difference
	Early                        // too far ahead of the open interval, or of now
	ClockSkew                    // the device's clock is too far off
	Duplicate                    // readings: one of that instant was there; of derived percentages the larger counts
	OutOfOrder                   // readings: older than all that are still held of the counter
	Saturated                    // differences: a reading at the maximum of a counter that sticks there
	Reset                        // differences: the counter was reset in between, or fell and came back
	Gap                          // differences: too long between two readings
	Implausible                  // values: more than 110 percent; differences: far more than the link can carry
	NoTick                       // values: the length of the port's tick is not known
	NoLink                       // values: no link on that side of the port
	Jump                         // jumps of time that are further than is worth empty snapshots
	numReasons
)

var reasonNames = [numReasons]string{
	UnknownPort: "unknown_port", UnknownCounter: "unknown_counter", BadTime: "bad_time", Late: "late", Early: "early", ClockSkew: "clock_skew",
	Duplicate: "duplicate", OutOfOrder: "out_of_order", Saturated: "saturated", Reset: "reset", Gap: "gap",
	Implausible: "implausible", NoTick: "no_tick", NoLink: "no_link", Jump: "jump",
}

// Reasons lists all there are.
func Reasons() []Reason {
	all := make([]Reason, 0, numReasons-1)
	for r := UnknownPort; r < numReasons; r++ {
		all = append(all, r)
	}
	return all
}

// String is the reason as a label.
func (r Reason) String() string { return reasonNames[r] }
