package secret

import (
	"errors"
	"fmt"
	"net/http"
)

// SameHost is for CheckRedirect of a client whose requests carry a secret in a header of its
// own, which the standard library would send on to whatever host an answer names.
func SameHost(to *http.Request, via []*http.Request) error {
	const most = 10 // as the standard library has it
	if len(via) >= most {
		return errors.New("too many redirects")
	}
	if to.URL.Hostname() != via[0].URL.Hostname() {
		return fmt.Errorf("redirected to another host, %s, which gets no secret", to.URL.Hostname())
	}
	return nil
}
