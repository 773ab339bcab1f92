package schema

// Presence says whether a port was heard in an interval.
type Presence uint8

// Presences.
const (
	Unheard Presence = iota // it has not reported for long, or ever
	Heard                   // there is a reading of the interval, or a later one
	Missed                  // it reported recently; its agent still reports most of its ports, but not this one
	Unread                  // it reported recently; its agent is silent, so nothing can be concluded about the port
)

// LinkPresence is the presence of both ends of every link, by LinkID.
type LinkPresence struct {
	From []Presence // of the port that the link leaves
	To   []Presence // of the port that it enters
}
