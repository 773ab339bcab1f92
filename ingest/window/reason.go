package window

// Reason says why something that went in did not become part of a value.
type Reason uint8

// Reasons. What is counted, rows or something finer, is in Unit.
const (
	sound          Reason = iota // no reason: all is well
	UnknownPort                  // the graph has no such port
	UnknownCounter               // the counter is not in the table; the caller may keep it raw
	BadTime                      // outside the years that can be reckoned with
	Late                         // the interval was closed; the reading only serves as the start of a later difference
	Early                        // too far ahead of the open interval, or of now
	ClockSkew                    // the device's clock is too far off
	Duplicate                    // a reading of that instant was there; of derived percentages the larger counts
	OutOfOrder                   // older than all readings still held of the counter
	Saturated                    // a reading at the maximum of a counter that sticks there
	Reset                        // the counter was reset in between
	Gap                          // too long between two readings
	Implausible                  // more than 110 percent
	NoTick                       // the length of the port's tick is not known
	NoLink                       // no link on that side of the port
	Jump                         // time jumped further than is worth empty snapshots
	numReasons
)

var reasonTable = [numReasons]struct{ name, unit, help string }{
	UnknownPort:    {"unknown_port", "rows", "the topology has no such port"},
	UnknownCounter: {"unknown_counter", "columns", "unknown counter; it is kept raw"},
	BadTime:        {"bad_time", "rows", "timestamp outside 1897-2116"},
	Late:           {"late", "rows", "interval was already closed"},
	Early:          {"early", "rows", "too far ahead of the other devices"},
	ClockSkew:      {"clock_skew", "rows", "clock of the device is too far off the median"},
	Duplicate:      {"duplicate", "readings", "second reading with the same timestamp"},
	OutOfOrder:     {"out_of_order", "readings", "older than all readings held of the counter"},
	Saturated:      {"saturated", "differences", "counter is saturated at its maximum"},
	Reset:          {"reset", "differences", "counter was reset between two readings"},
	Gap:            {"gap", "differences", "too long between two readings"},
	Implausible:    {"implausible", "values", "more than 110 percent"},
	NoTick:         {"no_tick", "values", "the length of the port's tick is not known"},
	NoLink:         {"no_link", "values", "the topology has no link on that side of the port"},
	Jump:           {"jump", "jumps", "time jumped, and the window began again"},
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
