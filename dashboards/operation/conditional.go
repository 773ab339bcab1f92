package operation

import "errors"

// notModified is the answer that the client has what there is.
type notModified struct{ tag string }

func (notModified) Error() string { return "not modified" }

// Conditional are the headers by which a client names what it has. Parameters embed it where a tag is known before
// the answer is made.
type Conditional struct {
	IfNoneMatch string `header:"If-None-Match" doc:"The ETag of an earlier answer: 304 where nothing has changed."`
}

// Has reports whether the client has what carries the tag.
func (c *Conditional) Has(tag string) bool { return Matches(c.IfNoneMatch, tag) }

// NotModified is the error with which a handler says that the client has what it would get.
func NotModified(tag string) error { return notModified{tag} }

// asNotModified finds it in an error.
func asNotModified(err error) (string, bool) {
	var n notModified
	ok := errors.As(err, &n)
	return n.tag, ok
}
