package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/giverny/giverny/collectors/feeds"
	"github.com/giverny/giverny/internal/bounded"
	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/internal/secret"
)

// SlurmrestdConfig configures slurmrestd.
type SlurmrestdConfig struct {
	// URL of slurmrestd, such as https://slurm.example:6820.
	URL secret.URL `yaml:"url"`
	// The user that the token is for.
	User string `yaml:"user"`
	// The token (JWT), as `scontrol token` prints it.
	Token secret.Text `yaml:"token"`
	// A file that holds the token instead, read each time because tokens expire.
	TokenFile string `yaml:"token_file"`
	// The API version, such as v0.0.40; empty: the newest that the server supports.
	Version string `yaml:"version"`
	// Use slurmctld's job numbers as ids, not 123_4 for an element of an array.
	RawIDs bool `yaml:"raw_ids"`

	Limits Limits `yaml:",inline"`
}

// SlurmrestdKind is the entry in the registry.
func SlurmrestdKind() feeds.Kind {
	return feeds.Kind{Name: "slurmrestd", Description: "Slurm's queue, from slurmrestd.", Interval: 30 * time.Second, NewConfig: func() feeds.SourceConfig {
		return &SlurmrestdConfig{Limits: defaultLimits()}
	}}
}

// Validate joins all errors. The URL may be empty while the feed is disabled; Open checks it.
func (c *SlurmrestdConfig) Validate() error {
	var f faults.List
	checkURL(&f, c.URL)
	f.Check(!c.Token.IsSet() || c.TokenFile == "", "token", "given directly and by token_file; choose one")
	f.Check(c.Version == "" || apiVersion.MatchString(c.Version), "version", "%q: want one such as v0.0.40, or empty", c.Version)
	c.Limits.validate(&f)
	return f.Err()
}

// apiVersion matches the versions of slurmrestd's API.
var apiVersion = regexp.MustCompile(`^v0\.0\.\d+$`)

func checkURL(f *faults.List, address secret.URL) {
	u, err := url.Parse(address.Reveal())
	f.Check(address.IsEmpty() || err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "", "url", "%q: want http://host:port or https://host:port", address)
}

// Open creates the source. No request is sent yet.
func (c *SlurmrestdConfig) Open(env feeds.Env) (feeds.Source, error) {
	if c.URL.IsEmpty() {
		return nil, errors.New("url: empty; want that of slurmrestd")
	}
	return newSource(&slurmrestd{cfg: c, client: &http.Client{CheckRedirect: secret.SameHost}}, c.Limits, env)
}

type slurmrestd struct {
	cfg     *SlurmrestdConfig
	client  *http.Client
	version string // the last one that was accepted
}

// The versions that are tried if none is configured: from the newest that is known to the oldest, then later ones, for a server
// that no longer has the others. Slurm has added one per release.
const oldestVersion, newestVersion, lastVersion = 36, 43, 60

func slurmVersions() (names []string) {
	for n := newestVersion; n >= oldestVersion; n-- {
		names = append(names, fmt.Sprintf("v0.0.%d", n))
	}
	for n := newestVersion + 1; n <= lastVersion; n++ {
		names = append(names, fmt.Sprintf("v0.0.%d", n))
	}
	return names
}

// errNoVersion means that slurmrestd does not know the version.
var errNoVersion = errors.New("no such version of the API")

func (s *slurmrestd) list(ctx context.Context, _, _ time.Time) (List, error) {
	versions := slurmVersions()
	if fixed := s.cfg.Version; fixed != "" {
		versions = []string{fixed}
	} else if s.version != "" {
		versions = append([]string{s.version}, versions...)
	}
	for _, version := range versions {
		list, err := s.ask(ctx, version)
		if errors.Is(err, errNoVersion) {
			continue
		}
		if err == nil {
			s.version = version
		}
		return list, err
	}
	return List{}, fmt.Errorf("slurmrestd at %s: it supports none of the API versions %s: %w; set version", s.cfg.URL, strings.Join(versions, ", "), errNoVersion)
}

func (s *slurmrestd) ask(ctx context.Context, version string) (list List, err error) {
	token, err := s.cfg.Token.Or(s.cfg.TokenFile)
	if err != nil {
		return list, fmt.Errorf("token of slurmrestd: %w", err)
	}
	header := http.Header{}
	if s.cfg.User != "" {
		header.Set("X-SLURM-USER-NAME", s.cfg.User)
	}
	if token = strings.TrimPrefix(strings.TrimSpace(token), "SLURM_JWT="); token != "" {
		header.Set("X-SLURM-USER-TOKEN", token)
	}
	address := strings.TrimRight(s.cfg.URL.Reveal(), "/") + "/slurm/" + url.PathEscape(version) + "/jobs"
	err = httpGet(ctx, s.client, address, header, func(status int, body io.Reader) error {
		switch {
		case status == http.StatusNotFound:
			return errNoVersion
		case status != http.StatusOK:
			return fmt.Errorf("status %d: %s", status, excerpt(body))
		}
		list, err = ReadSlurmJSON(body, "slurmrestd", SlurmOptions{RawIDs: s.cfg.RawIDs})
		return err
	})
	list.Prompt = true
	return list, err
}

// httpGet sends a request and streams the response to read.
func httpGet(ctx context.Context, client *http.Client, address string, header http.Header, read func(status int, body io.Reader) error) error {
	ask, err := secret.NewRequest(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	ask.Header = header
	answer, err := client.Do(ask)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if err := read(answer.StatusCode, bounded.Reader(answer.Body, feeds.MaxOutput)); err != nil {
		return fmt.Errorf("GET %s: %w", ask.URL.Redacted(), err)
	}
	return nil
}

// excerpt returns the start of an error response.
func excerpt(body io.Reader) string {
	text, _ := io.ReadAll(io.LimitReader(body, 300))
	return feeds.Clean(string(text), 300)
}
