package feedback

import (
	"fmt"

	"github.com/giverny/giverny/feedback/alertmanager"
	"github.com/giverny/giverny/feedback/kubernetes"
	"github.com/giverny/giverny/feedback/score"
	"github.com/giverny/giverny/feedback/slurm"
	"github.com/giverny/giverny/feedback/webhook"
	"github.com/giverny/giverny/internal/faults"
)

// Config of feedback. Every sink is disabled by default, and a dry run when first
// enabled.
type Config struct {
	// Folder of journals and pending notices; empty: feedback below data_dir. Only one process at a time may use it.
	Dir string `yaml:"dir"`
	// The fabrics whose results are used, by name; empty: all.
	Fabrics []string `yaml:"fabrics,flow"`
	// How the scores of nodes are computed.
	Score score.Config `yaml:"score"`
	// Make Slurm place jobs elsewhere.
	Slurm slurm.Config `yaml:"slurm"`
	// Make Kubernetes place pods elsewhere.
	Kubernetes kubernetes.Config `yaml:"kubernetes"`
	// Web servers that receive signed notices about regions.
	Webhooks []webhook.Config `yaml:"webhooks"`
	// Regions as alerts of Prometheus' Alertmanager.
	Alertmanager alertmanager.Config `yaml:"alertmanager"`
}

// DefaultConfig enables nothing.
func DefaultConfig() Config {
	return Config{Score: score.DefaultConfig(), Slurm: slurm.DefaultConfig(), Kubernetes: kubernetes.DefaultConfig(), Alertmanager: alertmanager.DefaultConfig()}
}

// Validate joins all errors.
func (c *Config) Validate() error {
	var f faults.List
	f.Under("score", c.Score.Validate())
	f.Under("slurm", c.Slurm.Validate())
	f.Under("kubernetes", c.Kubernetes.Validate())
	names := map[string]bool{}
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		key := fmt.Sprintf("webhooks.%d", i)
		f.Under(key, w.Validate())
		f.Check(!names[w.Name], key+".name", "%q is duplicated", w.Name)
		names[w.Name] = true
	}
	f.Under("alertmanager", c.Alertmanager.Validate())
	return f.Err()
}
