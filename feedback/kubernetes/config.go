package kubernetes

import (
	"net/url"
	"regexp"
	"time"

	"github.com/giverny/giverny/feedback/policy"
	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/internal/secret"
)

// Config of the Kubernetes sinks.
type Config struct {
	// A file of lines "node<TAB>device" for nodes whose name in Kubernetes differs from that of their device in the topology; both may be host lists. Job feeds read the same format.
	NodeMap string `yaml:"node_map"`
	// The scheduler extender, served at /feedback/kubernetes/filter and /feedback/kubernetes/prioritize.
	Extender ExtenderConfig `yaml:"extender"`
	// A label or a taint of congested nodes.
	Nodes NodesConfig `yaml:"nodes"`
}

// ExtenderConfig of the scheduler extender. Disabled by default, and a dry run when first enabled.
type ExtenderConfig struct {
	// Answer the scheduler.
	Enabled bool `yaml:"enabled"`
	// Accept every node and prefer none; log and count the answers that would be given.
	DryRun bool `yaml:"dry_run"`
	// The nodes that may be filtered out, by their names in Kubernetes; patterns such as gpu-*. Empty: none.
	Allow []string `yaml:"allow"`
	// Nodes with at least this score, 0 to 100, are filtered out; 0: none are. If no node would remain, all pass.
	FilterAt float64 `yaml:"filter_at"`
	// Maximum age of the scores; with older ones every node passes and none is preferred.
	MaxAge time.Duration `yaml:"max_age"`
}

// NodesConfig of labels and taints. Disabled by default, and a dry run when first enabled.
type NodesConfig struct {
	// Change nodes.
	Enabled bool `yaml:"enabled"`
	// Log and audit what would be changed, and change nothing.
	DryRun bool `yaml:"dry_run"`
	// The label that a congested node gets, with the value true. Empty: none.
	Label string `yaml:"label"`
	// The key of the taint that a congested node gets, with the value true. Empty: none.
	Taint string `yaml:"taint"`
	// The taint's effect: PreferNoSchedule or NoSchedule.
	Effect string `yaml:"effect"`
	// The URL of the API server. Empty: that of the cluster this process runs in.
	URL secret.URL `yaml:"url"`
	// A file that holds the token, read for each request; empty: that of the service account.
	TokenFile string `yaml:"token_file"`
	// The certificate authorities to trust, a PEM file, read again when it changes; empty: that of the service account.
	CA string `yaml:"ca"`
	// How long one request may take.
	Timeout time.Duration `yaml:"timeout"`

	Policy policy.Config `yaml:",inline"`
}

// DefaultConfig is disabled.
func DefaultConfig() Config {
	return Config{
		Extender: ExtenderConfig{DryRun: true, FilterAt: 90, MaxAge: 5 * time.Minute},
		Nodes: NodesConfig{DryRun: true, Label: "giverny.dev/congested", Effect: preferNoSchedule, Timeout: 10 * time.Second,
			Policy: policy.DefaultConfig()},
	}
}

const (
	preferNoSchedule = "PreferNoSchedule"
	noSchedule       = "NoSchedule"
)

// qualifiedName is a label or taint key: an optional DNS prefix and slash, then a name.
var qualifiedName = regexp.MustCompile(`^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$`)

// Validate joins all errors.
func (c *Config) Validate() error {
	var f faults.List
	f.Under("extender", c.Extender.Validate())
	f.Under("nodes", c.Nodes.Validate())
	return f.Err()
}

// Validate joins all errors.
func (c *ExtenderConfig) Validate() error {
	var f faults.List
	allow := policy.DefaultConfig()
	allow.Allow = c.Allow
	f.Under("", allow.Validate())
	f.Check(!c.Enabled || len(c.Allow) > 0, "allow", "empty, so no node may be filtered; list the nodes, or set enabled: false")
	f.Check(c.FilterAt >= 0 && c.FilterAt <= 100, "filter_at", "%g: want 0 to 100", c.FilterAt)
	f.Check(c.MaxAge > 0, "max_age", "%v: want a positive duration", c.MaxAge)
	return f.Err()
}

// Validate joins all errors.
func (c *NodesConfig) Validate() error {
	var f faults.List
	f.Check(c.Label != "" || c.Taint != "", "label", "empty, and so is taint, so nothing would be changed; set one of them")
	f.Check(c.Label == "" || qualifiedName.MatchString(c.Label), "label", "%q: want a key such as giverny.dev/congested", c.Label)
	f.Check(c.Taint == "" || qualifiedName.MatchString(c.Taint), "taint", "%q: want a key such as giverny.dev/congested", c.Taint)
	f.Check(c.Effect == preferNoSchedule || c.Effect == noSchedule, "effect", "%q: want %s or %s", c.Effect, preferNoSchedule, noSchedule)
	if !c.URL.IsEmpty() {
		u, err := url.Parse(c.URL.Reveal())
		f.Check(err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "", "url", "want https://host:port")
	}
	f.Check(c.Timeout > 0, "timeout", "%v: want a positive duration", c.Timeout)
	f.Under("", c.Policy.Validate())
	f.Check(!c.Enabled || len(c.Policy.Allow) > 0, "allow", "empty, so no node may be changed; list the nodes, or set enabled: false")
	return f.Err()
}
