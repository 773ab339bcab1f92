package schema

// Presence says whether a port was heard of in an interval.
type Presence uint8

// Presences.
const (
	Unheard Presence = iota // it has not reported for long, or never
	Heard                   // there is a reading of the interval, or a later one
	Missed                  // it reported lately; its agent still reports most of what it reads, and not this port
	Unread                  // it reported lately; its agent is silent, so that nothing follows for the port
)

// LinkPresence is the presence of both ends of every link, by LinkID.
type LinkPresence struct {
	From []Presence // of the port that the link leaves
	To   []Presence // of the port that it enters
}
