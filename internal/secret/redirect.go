package secret

import (
	"errors"
	"fmt"
	"net/http"
)

// SameHost is a CheckRedirect for clients whose requests carry a secret in a custom header,
// which the standard library would forward to any host in a redirect.
func SameHost(to *http.Request, via []*http.Request) error {
	const most = 10 // as in the standard library
	if len(via) >= most {
		return errors.New("too many redirects")
	}
	if to.URL.Hostname() != via[0].URL.Hostname() {
		return fmt.Errorf("redirected to another host, %s, to which no secret is sent", to.URL.Hostname())
	}
	return nil
}
