package kubernetes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/giverny/giverny/feedback/reconcile"
	"github.com/giverny/giverny/internal/bounded"
	"github.com/giverny/giverny/internal/plainfile"
	"github.com/giverny/giverny/internal/retry"
	"github.com/giverny/giverny/internal/secret"
)

var (
	errNoNode   = errors.New("no such node")
	errConflict = errors.New("changed concurrently")
)

// get requests a node. An answer without the node or its version is an error, not a node without marks: its taints would be
// overwritten.
func (n *Nodes) get(ctx context.Context, name string) (*apiNode, error) {
	var got apiNode
	if err := n.call(ctx, http.MethodGet, name, nil, &got); err != nil {
		return nil, err
	}
	if got.Metadata.Name != name || got.Metadata.ResourceVersion == "" {
		return nil, fmt.Errorf("kubernetes: GET node %s: the answer is not this node; check feedback.kubernetes.nodes.url, and proxies on the way", name)
	}
	return &got, nil
}

// call makes one request about a node, and repeats it when the API server asks for that. body is a JSON merge patch (RFC 7386).
func (n *Nodes) call(ctx context.Context, method, name string, body, into any) error {
	for patience := n.cfg.Timeout; ; {
		err := n.request(ctx, method, name, body, into)
		var busy *overload
		if !errors.As(err, &busy) || busy.wait > patience || !retry.Sleep(ctx, busy.wait) {
			return err
		}
		patience -= busy.wait
	}
}

// overload is the answer of a server that has too much to do, and asks for a pause of a second or more.
type overload struct {
	status string
	wait   time.Duration
}

func (o *overload) Error() string {
	return fmt.Sprintf("%s, retry after %v", o.status, o.wait)
}

// Is makes it reconcile.ErrOverloaded: other nodes would get the same answer.
func (o *overload) Is(target error) bool { return target == reconcile.ErrOverloaded }

// overloaded returns the pause that a response asks for, as API priority and fairness does; nil: it asks for none. The API
// server gives seconds.
func overloaded(response *http.Response) *overload {
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	asks := err == nil && seconds >= 0
	switch code := response.StatusCode; {
	case code == http.StatusTooManyRequests, code >= 500 && asks:
		return &overload{response.Status, time.Duration(min(max(seconds, 1), int(time.Hour/time.Second))) * time.Second}
	}
	return nil
}

func (n *Nodes) request(ctx context.Context, method, name string, body, into any) error {
	address, text := n.base+"/api/v1/nodes/"+url.PathEscape(name), []byte(nil)
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return fmt.Errorf("kubernetes: %w", err)
		}
		address += "?fieldManager=giverny"
	}
	request, err := secret.NewRequest(ctx, method, address, bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("kubernetes: %w", err)
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Content-Type", "application/merge-patch+json")
	if n.cfg.TokenFile != "" { // read for each request: Kubernetes renews it
		token, err := plainfile.Read(n.cfg.TokenFile)
		if err != nil {
			return fmt.Errorf("kubernetes: token: %w", err)
		}
		request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	response, err := secret.Do(n.client, request)
	if err != nil {
		return fmt.Errorf("kubernetes: %s node %s: %w", method, name, err)
	}
	defer response.Body.Close()
	return decode(response, method, name, into)
}

// maxNode bounds a response, in bytes.
const maxNode = 4 << 20

func decode(response *http.Response, method, name string, into any) error {
	text, err := io.ReadAll(bounded.Reader(response.Body, maxNode))
	if err != nil {
		return fmt.Errorf("kubernetes: %s node %s: %s: read the response: %w", method, name, response.Status, err)
	}
	var status struct { // a v1.Status; a proxy's error page has none
		Message string `json:"message"`
		Reason  string `json:"reason"`
	}
	if response.StatusCode != http.StatusOK {
		_ = json.Unmarshal(text, &status)
	}
	if busy := overloaded(response); busy != nil {
		return fmt.Errorf("kubernetes: %s node %s: %w", method, name, busy)
	}
	switch {
	case response.StatusCode == http.StatusNotFound && status.Reason == "NotFound":
		return errNoNode
	case response.StatusCode == http.StatusNotFound: // the node may have a mark
		return fmt.Errorf("kubernetes: %s node %s: %s, not from an API server; check feedback.kubernetes.nodes.url", method, name, response.Status)
	case response.StatusCode == http.StatusConflict:
		return errConflict
	case response.StatusCode != http.StatusOK:
		return fmt.Errorf("kubernetes: %s node %s: %s %s", method, name, response.Status, status.Message)
	case into == nil:
		return nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("kubernetes: %s node %s: %w", method, name, err)
	}
	return nil
}
