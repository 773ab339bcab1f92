// Package window makes one schema.Snapshot per interval of what ports counted.
// In go counter batches of one fabric, in the order in which they arrived; out
// come snapshots, in order of time, one per interval, whose values are rates and
// percentages of the interval by link. It knows how counters wrap, stick and
// are reset, which readings come late, early, twice or from a clock that is
// wrong, and counts whatever it drops. It has no goroutine and no clock: time is
// what the readings say, and what the caller says with Advance.
//
// # From readings to a value
//
// The difference of two consecutive readings of a counter is spread evenly over
// the time between them. An interval's value is what falls into it, divided by
// the time covered; it is valid if enough of the interval is covered. Readings
// are kept until their interval closes, ordered by time, so that it does not
// matter in which order they came. A gauge's value is the mean of its readings.
// A percentage that the device derived itself describes the interval that ends
// at the boundary nearest to the reading, the larger of several counting (the
// bucket rule of Monet's released programs). A link gets readings from its two
// ends, perhaps of several counters: the larger wins.
//
// # When an interval closes
//
// As soon as every port that reported lately has reported past its end; or when
// more than half of the devices have reported past its end and the lateness in
// event time; or when Advance says that it ended longer ago than the lateness by
// the clock. One device with a
// wrong clock closes nothing. What comes after is late: it serves as the start
// of a later difference, no more.
//
// A snapshot depends only on the readings and on their order, not on how they
// were cut into batches.
package window
