package collective

import "fmt"

// leftOut counts the input that a diagnosis did not use.
type leftOut struct {
	doubled    int // duplicate step records
	cut        int // step records over the limit
	impossible int // step records of unknown ranks, or that end before they begin

	foreign int // flows, paths, pauses and reports with unknown nodes or invalid numbers
	flows   int // background flows over maxOthers
}

// add adds the counts of a further part of the same job. All parts have the same flows,
// paths, pauses and reports.
func (l *leftOut) add(part leftOut) {
	l.doubled, l.cut, l.impossible = l.doubled+part.doubled, l.cut+part.cut, l.impossible+part.impossible
	l.foreign, l.flows = max(l.foreign, part.foreign), max(l.flows, part.flows)
}

// notes say what was left out, and why.
func (l *leftOut) notes() (notes []string) {
	for _, x := range []struct {
		n      int
		format string
	}{
		{l.doubled, "%d step records were duplicates"},
		{l.cut, "%d step records of one collective are over the limit and were dropped"},
		{l.impossible, "%d step records belong to no rank or end before they begin and were dropped"},
		{l.foreign, "%d flows, paths, pauses, reports and links were dropped: they name nodes that are not in the fabric, or have impossible values"},
		{l.flows, fmt.Sprintf("%%d flows beside the collective's are over the limit of %d and were dropped", maxOthers)},
	} {
		if x.n > 0 {
			notes = append(notes, fmt.Sprintf(x.format, x.n))
		}
	}
	return notes
}
