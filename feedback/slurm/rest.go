package slurm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/giverny/giverny/internal/bounded"
	"github.com/giverny/giverny/internal/secret"
	"github.com/giverny/giverny/internal/slurmnumber"
	"github.com/giverny/giverny/internal/tlsfile"
)

// rest talks to slurmrestd: GET and POST /slurm/v0.0.xx/node/{name}.
type rest struct {
	cfg    Config
	client *http.Client
}

func newREST(cfg Config, log *slog.Logger) (*rest, error) {
	files := tlsfile.Files{CA: cfg.REST.CA}
	connections, err := tlsfile.NewClient(files, log)
	if err != nil {
		return nil, err
	}
	return &rest{cfg, &http.Client{Timeout: cfg.Timeout, CheckRedirect: secret.NoRedirect, Transport: connections.Use(&http.Transport{MaxIdleConnsPerHost: atATime})}}, nil
}

// restNode is a node in the formats of all supported API versions.
type restNode struct {
	Name      string             `json:"name"`
	Weight    slurmnumber.Number `json:"weight"`
	Available features           `json:"features"`
	Active    features           `json:"active_features"`
	State     features           `json:"state"`       // includes the flags since v0.0.40
	Flags     features           `json:"state_flags"` // before that
}

type restAnswer struct {
	Nodes  []restNode `json:"nodes"`
	Errors []struct {
		Description string `json:"description"`
		Error       string `json:"error"`
		Number      int    `json:"error_number"`
	} `json:"errors"`
}

// features is a list of names, encoded as an array or a comma-separated string.
type features []string

// UnmarshalJSON accepts both forms.
func (f *features) UnmarshalJSON(text []byte) error {
	if !bytes.HasPrefix(text, []byte(`"`)) {
		return json.Unmarshal(text, (*[]string)(f))
	}
	var joined string
	err := json.Unmarshal(text, &joined)
	*f = splitFeatures(joined)
	return err
}

// invalidNode is Slurm's error number for an unknown node (ESLURM_INVALID_NODE_NAME).
const invalidNode = 2009

// atATime is how many requests for nodes are under way: hundreds of nodes are restored while the process stops.
const atATime = 4

// look requests the nodes, until one request fails.
func (r *rest) look(ctx context.Context, names []string) (map[string]node, error) {
	var mu sync.Mutex // guards nodes
	nodes := make(map[string]node, len(names))
	requests, ctx := errgroup.WithContext(ctx)
	requests.SetLimit(atATime)
	for _, name := range names {
		requests.Go(func() error {
			n, err := r.get(ctx, name)
			if errors.Is(err, errNoNode) {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			nodes[name] = n
			return err
		})
	}
	if err := requests.Wait(); err != nil {
		return nil, err
	}
	return nodes, nil
}

func (r *rest) get(ctx context.Context, name string) (node, error) {
	answer, err := r.call(ctx, http.MethodGet, name, nil)
	if err != nil {
		return node{}, err
	}
	i := slices.IndexFunc(answer.Nodes, func(n restNode) bool { return n.Name == name })
	if i < 0 { // not the same as an unknown node, whose mark would be forgotten
		return node{}, fmt.Errorf("slurmrestd: GET node %s: the answer does not contain it", name)
	}
	n := answer.Nodes[i]
	if !n.Weight.Set || n.Weight.Value < 0 || n.Weight.Value > math.MaxUint32 { // a wrong weight would be restored later
		return node{}, fmt.Errorf("slurmrestd: GET node %s: the answer contains no valid weight of it", name)
	}
	return node{Weight: uint32(n.Weight.Value), Available: n.Available, Active: n.Active, use: slices.Concat(n.State, n.Flags)}, nil
}

// set changes the nodes one by one.
func (r *rest) set(ctx context.Context, names []string, to node, c changed) error {
	body := map[string]any{}
	if c.weight {
		body["weight"] = map[string]any{"set": true, "number": to.Weight}
	}
	if c.features {
		body["features"], body["features_act"] = append([]string{}, to.Available...), append([]string{}, to.Active...)
	}
	var errs []error
	for _, name := range names {
		_, err := r.call(ctx, http.MethodPost, name, body)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// perSet is one: the API addresses single nodes.
func (r *rest) perSet() int { return 1 }

var errNoNode = errors.New("no such node")

func (r *rest) call(ctx context.Context, method, name string, body any) (*restAnswer, error) {
	address := strings.TrimSuffix(r.cfg.REST.URL.Reveal(), "/") + "/slurm/" + r.cfg.REST.Version + "/node/" + url.PathEscape(name)
	text, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("slurmrestd: %w", err)
	}
	if body == nil {
		text = nil
	}
	request, err := secret.NewRequest(ctx, method, address, bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("slurmrestd: %w", err)
	}
	token, err := r.cfg.REST.Token.Or(r.cfg.REST.TokenFile)
	if err != nil {
		return nil, fmt.Errorf("slurmrestd: token: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-SLURM-USER-TOKEN", strings.TrimPrefix(strings.TrimSpace(token), "SLURM_JWT="))
	if r.cfg.REST.User != "" {
		request.Header.Set("X-SLURM-USER-NAME", r.cfg.REST.User)
	}
	response, err := secret.Do(r.client, request)
	if err != nil {
		return nil, fmt.Errorf("slurmrestd: %s node %s: %w", method, name, err)
	}
	defer response.Body.Close()
	return decode(response, method, name)
}

func decode(response *http.Response, method, name string) (*restAnswer, error) {
	text, err := io.ReadAll(bounded.Reader(response.Body, maxOutput))
	if err != nil {
		return nil, fmt.Errorf("slurmrestd: %s node %s: %s: read the response: %w", method, name, response.Status, err)
	}
	var answer restAnswer
	parsed := json.Unmarshal(text, &answer)
	if len(answer.Errors) > 0 {
		e := answer.Errors[0]
		said := cmp.Or(e.Description, e.Error)
		if e.Number == invalidNode || strings.Contains(strings.ToLower(said), "invalid node name") {
			return nil, errNoNode
		}
		return nil, fmt.Errorf("slurmrestd: %s node %s: %s: %s (%d)", method, name, response.Status, said, e.Number)
	}
	if response.StatusCode == http.StatusNotFound && method == http.MethodGet && answer.Nodes != nil {
		return nil, errNoNode
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("slurmrestd: %s node %s: %s: %s", method, name, response.Status, short(text))
	}
	if parsed != nil {
		return nil, fmt.Errorf("slurmrestd: %s node %s: %w", method, name, parsed)
	}
	return &answer, nil
}
