// Package window makes one schema.Snapshot per interval from the counters of
// ports. Its input are counter batches of one fabric, in order of arrival; its
// output are snapshots, in order of time, one per interval, whose values are
// rates and percentages per link. It handles counters that wrap, saturate and
// are reset, and readings that are late, early, duplicate or from a skewed
// clock, and counts whatever it drops. It has no goroutine and no clock: time
// comes from the readings, and from the caller through Advance.
//
// # From readings to a value
//
// The difference of two consecutive readings of a counter is spread evenly over
// the time between them. An interval's value is the part that falls into it,
// divided by the time covered; it is valid if enough of the interval is
// covered. Readings are kept until their interval closes, ordered by time, so
// that their order of arrival does not matter. A gauge's value is the mean of
// its readings. A percentage derived by the device describes the interval that
// ends at the boundary nearest to the reading; of several the largest counts
// (the bucket rule of Monet's released programs). A link gets readings from
// both its ends, perhaps from several counters: the largest wins.
//
// # When an interval closes
//
// As soon as every recently active port has reported past its end; or when more
// than half of the devices have reported past its end plus the event-time
// lateness; or when Advance says that it ended longer ago than the allowed
// lateness by the wall clock. One device with a wrong clock closes nothing.
// Readings that arrive later are late: they only serve as the start of a later
// difference.
//
// A snapshot depends only on the readings and on their order, not on how they
// were cut into batches.
package window
