package window

// Reason says why something that went in did not become part of a value.
type Reason uint8

// Reasons. What is counted, rows or something finer, is in Unit.
const (
	sound          Reason = iota // no reason: all is well
	UnknownPort                  // the graph has no such port
	UnknownCounter               // nobody knows the counter; the caller may keep it raw
	BadTime                      // the time is no time of our age
	Late                         // the interval was closed; the reading only serves as the start of a later difference
	Early                        // beyond the horizon of the open interval, or of now
	ClockSkew                    // the device's clock is too far off
	Duplicate                    // a reading of that instant was there; of derived percentages the larger counts
	OutOfOrder                   // older than all readings still held of the counter
	Saturated                    // a reading at the maximum of a counter that sticks there
	Reset                        // the counter began anew in between
	Gap                          // too long between two readings
	Implausible                  // more than 110 percent
	NoTick                       // nobody knows the length of the port's tick
	NoLink                       // no link on that side of the port
	Jump                         // time leapt further than is worth empty snapshots
	numReasons
)

var reasonTable = [numReasons]struct{ name, unit, help string }{
	UnknownPort:    {"unknown_port", "rows", "the topology has no such port"},
	UnknownCounter: {"unknown_counter", "columns", "nobody knows the counter; it is kept raw"},
	BadTime:        {"bad_time", "rows", "the time is none of our age"},
	Late:           {"late", "rows", "the interval was closed already"},
	Early:          {"early", "rows", "too far ahead of the other devices"},
	ClockSkew:      {"clock_skew", "rows", "the device's clock is too far off the others'"},
	Duplicate:      {"duplicate", "readings", "a reading of the same instant was there before"},
	OutOfOrder:     {"out_of_order", "readings", "too many newer readings of the counter were there before"},
	Saturated:      {"saturated", "differences", "the counter stuck at its maximum"},
	Reset:          {"reset", "differences", "the counter began anew between two readings"},
	Gap:            {"gap", "differences", "too long between two readings"},
	Implausible:    {"implausible", "values", "more than 110 percent"},
	NoTick:         {"no_tick", "values", "the length of the port's tick is not known"},
	NoLink:         {"no_link", "values", "the topology has no link on that side of the port"},
	Jump:           {"jump", "leaps", "time leapt, and the window started anew"},
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
func (r Reason) String() string { return reasonTable[r].name }

// Unit is what is counted under the reason.
func (r Reason) Unit() string { return reasonTable[r].unit }

// Help says in a few words what the reason means.
func (r Reason) Help() string { return reasonTable[r].help }
