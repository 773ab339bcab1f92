package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/giverny/giverny/internal/config"
)

func newConfig(g *globals) *cobra.Command {
	cmd := newFolder("config", "Look at the configuration")
	cmd.AddCommand(&cobra.Command{
		Use:   "check",
		Short: "Read the configuration and the fabrics it names, and say what is wrong",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, log, err := g.load(cmd)
			if err != nil {
				return err
			}
			for _, f := range cfg.Fabrics {
				graph, err := config.LoadTopology(f, log)
				if err != nil {
					return err
				}
				if err := printSummary(cmd.OutOrStdout(), graph, false); err != nil {
					return err
				}
			}
			name := g.configFile
			if name == "" {
				name = "the defaults"
			}
			fmt.Fprintf(cmd.OutOrStdout(), "configuration ok: %s, %d fabrics\n", name, len(cfg.Fabrics))
			return nil
		},
	})
	return cmd
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		Run:   func(cmd *cobra.Command, _ []string) { fmt.Fprintln(cmd.OutOrStdout(), "giverny", version) },
	}
}

// printConfig prints what is in force, with secrets struck out.
func printConfig(w io.Writer, cfg config.Config) error {
	var doc yaml.Node
	if err := doc.Encode(cfg); err != nil {
		return err
	}
	strikeSecrets(&doc)
	enc := yaml.NewEncoder(w)
	enc.SetIndent(2)
	defer enc.Close()
	return enc.Encode(&doc)
}

func strikeSecrets(n *yaml.Node) {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		value := n.Content[i+1]
		switch {
		case value.Kind != yaml.ScalarNode || value.Value == "":
		case n.Content[i].Value == "password":
			value.Value = "***"
		case n.Content[i].Value == "url":
			value.Value = withoutPassword(value.Value)
		}
	}
	for _, child := range n.Content {
		strikeSecrets(child)
	}
}

// withoutPassword strikes the password of scheme://user:password@host.
func withoutPassword(url string) string {
	scheme, rest, ok := strings.Cut(url, "://")
	at := strings.LastIndexByte(rest, '@')
	if !ok || at < 0 {
		return url
	}
	user, _, ok := strings.Cut(rest[:at], ":")
	if !ok {
		return url
	}
	return scheme + "://" + user + ":***" + rest[at:]
}

func dirOf(path string) string { return filepath.Dir(path) }
