package operation

import "errors"

// notModified means that the client's copy is current.
type notModified struct{ tag string }

func (notModified) Error() string { return "not modified" }

// Conditional is the request header with the tag of the client's copy. Embed it in parameters if the tag is known
// before the response is made.
type Conditional struct {
	IfNoneMatch string `header:"If-None-Match" doc:"The ETag of an earlier answer; 304 if nothing has changed since."`
}

// Has reports whether the client's copy has the tag.
func (c *Conditional) Has(tag string) bool { return matches(c.IfNoneMatch, tag) }

// NotModified is the error by which a handler says that the client's copy is current.
func NotModified(tag string) error { return notModified{tag} }

// asNotModified returns the tag of a notModified in an error.
func asNotModified(err error) (string, bool) {
	var n notModified
	ok := errors.As(err, &n)
	return n.tag, ok
}
