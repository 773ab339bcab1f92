package dashboards

import (
	"encoding/base64"
	"encoding/binary"
	"errors"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

// paged are the parameters of a paginated list.
type paged struct {
	N      int    `query:"n" min:"1" max:"10000" default:"1000" doc:"Maximum number of entries."`
	Cursor cursor `query:"cursor" doc:"Value of next on the previous page."`
}

// more describes the end of a page.
type more struct {
	// There are older rows.
	Truncated bool `json:"truncated"`
	// Cursor of the next page, which has older rows; empty if there are none.
	Next string `json:"next"`
}

// cursor is the position where a page ends: older rows follow, and the rows of the same time except the newest given
// ones.
type cursor struct {
	time  schema.Instant
	given int64 // rows of that time that were in earlier pages
}

// cursorBytes is the length of a cursor.
const cursorBytes = 16

func (c cursor) String() string {
	var b [cursorBytes]byte
	binary.BigEndian.PutUint64(b[:], uint64(c.time))
	binary.BigEndian.PutUint64(b[cursorBytes/2:], uint64(c.given))
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// UnmarshalText parses the output of String.
func (c *cursor) UnmarshalText(text []byte) error {
	b, err := base64.RawURLEncoding.DecodeString(string(text))
	if err != nil || len(b) != cursorBytes {
		return errors.New("want the value of next from an earlier answer")
	}
	c.time, c.given = schema.Instant(binary.BigEndian.Uint64(b)), int64(binary.BigEndian.Uint64(b[cursorBytes/2:]))
	if c.time <= 0 || c.time > read.Newest || c.given < 0 || c.given > maxGiven {
		return errors.New("want the value of next from an earlier answer")
	}
	return nil
}

// maxGiven limits how many rows of one time a cursor may skip.
const maxGiven = 1_000_000

// before limits a span to what is left at the cursor.
func (p *paged) before(s read.Span) read.Span {
	if p.Cursor.time > 0 {
		s.To = max(s.From, min(s.To, p.Cursor.time+1))
	}
	return s
}

// limit is how many of the newest rows before the cursor to query.
func (p *paged) limit() int { return p.N + int(p.Cursor.given) + 1 }

// cut makes a page from the newest limit rows, which are ordered by time.
func cut[T any](p *paged, rows []T, timeOf func(*T) schema.Instant) ([]T, more) {
	given := 0
	for given < int(p.Cursor.given) && given < len(rows) && timeOf(&rows[len(rows)-1-given]) == p.Cursor.time {
		given++
	}
	rows = rows[:len(rows)-given]
	if len(rows) <= p.N {
		return append([]T{}, rows...), more{}
	}
	rows = rows[len(rows)-p.N:]
	next := cursor{time: timeOf(&rows[0])}
	for i := range rows {
		if timeOf(&rows[i]) == next.time {
			next.given++
		}
	}
	if next.time == p.Cursor.time {
		next.given += p.Cursor.given
	}
	return append([]T{}, rows...), more{true, next.String()}
}
