package bluewaters

import (
	"strconv"
	"strings"
)

// dayRow is one line of a day file. Values are percent x 1e6, 0 to maxValue. A file has
// two rows per switch and minute, one for each of the two nodes that share a Gemini;
// the larger values count.
type dayRow struct {
	unixSeconds                          int64
	creditStall, inqStall, usedBandwidth [numDirections]uint32
	x, y, z                              int
}

// appendRow appends a row in the format of a day file, with the line end.
func appendRow(buf []byte, r *dayRow) []byte {
	buf = strconv.AppendInt(buf, r.unixSeconds, 10)
	for _, values := range [...]*[numDirections]uint32{&r.creditStall, &r.inqStall, &r.usedBandwidth} {
		for _, v := range values {
			buf = strconv.AppendUint(append(buf, ','), uint64(v), 10)
		}
	}
	for _, c := range [...]int{r.z, r.y, r.x} {
		buf = strconv.AppendInt(append(buf, ','), int64(c), 10)
	}
	return append(buf, '\n')
}

// header is the header line of files that have one, with the line end.
func header() string {
	names := make([]string, numColumns)
	for c := range names {
		names[c] = columnName(c)
	}
	return strings.Join(names, ",") + "\n"
}
