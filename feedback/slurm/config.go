package slurm

import (
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/giverny/giverny/feedback/policy"
	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/internal/secret"
)

// Config of the changes in Slurm. Disabled by default, and a dry run when first enabled.
type Config struct {
	// Ask Slurm to place jobs elsewhere.
	Enabled bool `yaml:"enabled"`
	// Log and audit what would be changed, and change nothing.
	DryRun bool `yaml:"dry_run"`
	// The weight of a congested node; Slurm takes nodes of low weight first. 0: leave weights alone.
	Weight uint32 `yaml:"weight"`
	// A feature that is added to a congested node. Empty: none.
	Feature string `yaml:"feature"`
	// A feature in slurm.conf that is removed from a congested node, so that jobs can ask for it with --constraint. Empty: none.
	ClearFeature string `yaml:"clear_feature"`
	// The program and its first arguments; no shell is used.
	Scontrol []string `yaml:"scontrol,flow"`
	// Use slurmrestd instead of scontrol.
	REST RESTConfig `yaml:"rest"`
	// How long one call of scontrol or slurmrestd may take.
	Timeout time.Duration `yaml:"timeout"`
	// A file of lines "node<TAB>device" for nodes whose name in Slurm differs from that of their device in the topology; both may be host lists. Job feeds read the same format.
	NodeMap string `yaml:"node_map"`

	Policy policy.Config `yaml:",inline"`
}

// RESTConfig is how to reach slurmrestd.
type RESTConfig struct {
	// The URL, such as http://localhost:6820. Empty: scontrol is used.
	URL secret.URL `yaml:"url"`
	// The API version, v0.0.39 or later: earlier ones cannot change nodes.
	Version string `yaml:"version"`
	// The user of the token.
	User string `yaml:"user"`
	// A token as printed by scontrol token, without SLURM_JWT=.
	Token secret.Text `yaml:"token"`
	// A file that holds the token, read for each call, so that it can be renewed.
	TokenFile string `yaml:"token_file"`
	// The certificate authorities to trust, a PEM file, read again when it changes; empty: the system's.
	CA string `yaml:"ca"`
}

// DefaultConfig is disabled.
func DefaultConfig() Config {
	return Config{DryRun: true, Weight: 1000, Scontrol: []string{"scontrol"}, REST: RESTConfig{Version: "v0.0.40"}, Timeout: 10 * time.Second, Policy: policy.DefaultConfig()}
}

var (
	featureName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.=:-]{0,62}$`)
	apiVersion  = regexp.MustCompile(`^v0\.0\.(39|[4-9][0-9])$`)
)

// Validate joins all errors.
func (c *Config) Validate() error {
	var f faults.List
	f.Check(c.Weight > 0 || c.Feature != "" || c.ClearFeature != "", "weight", "0, and neither feature nor clear_feature is set, so nothing would be changed; set one of them")
	f.Check(c.Weight <= 65533, "weight", "%d: want up to 65533", c.Weight)
	for key, name := range map[string]string{"feature": c.Feature, "clear_feature": c.ClearFeature} {
		f.Check(name == "" || featureName.MatchString(name), key, "%q: want letters, digits, _ . = : and -", name)
	}
	f.Check(c.Feature == "" || c.Feature != c.ClearFeature, "clear_feature", "%q is feature too", c.ClearFeature)
	f.Check(len(c.Scontrol) > 0 && c.Scontrol[0] != "", "scontrol", "empty; want [scontrol]")
	f.Check(c.Timeout > 0, "timeout", "%v: want a positive duration", c.Timeout)
	f.Under("rest", c.REST.Validate())
	f.Under("", c.Policy.Validate())
	f.Check(!c.Enabled || len(c.Policy.Allow) > 0, "allow", "empty, so no node may be changed; list the nodes, or set enabled: false")
	return f.Err()
}

// Validate joins all errors.
func (c *RESTConfig) Validate() error {
	var f faults.List
	f.Check(apiVersion.MatchString(c.Version), "version", "%q: want v0.0.39 or later", c.Version)
	f.Check(!c.Token.IsSet() || c.TokenFile == "", "token_file", "both token and token_file; choose one")
	if c.URL.IsEmpty() {
		return f.Err()
	}
	u, err := url.Parse(c.URL.Reveal())
	f.Check(err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "", "url", "want http://host:port or https://host:port")
	f.Check(!strings.ContainsAny(c.User, "\r\n"), "user", "holds a line break")
	return f.Err()
}
