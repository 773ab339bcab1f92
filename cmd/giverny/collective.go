package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/giverny/giverny/collective"
)

func newCollective(*globals) *cobra.Command {
	cmd := newFolder("collective", "Find out why collective operations are slow")
	cmd.AddCommand(newCollectiveDiagnose())
	return cmd
}

type collectiveFlags struct {
	format, lineRate, svg, trace string
	json                         bool
}

func newCollectiveDiagnose() *cobra.Command {
	var f collectiveFlags
	cmd := &cobra.Command{
		Use:   "diagnose --format FORMAT DIR|FILE...",
		Short: "Find the critical path of a collective and who lengthened it, offline",
		Args:  cobra.MinimumNArgs(1),
		RunE:  func(cmd *cobra.Command, args []string) error { return runCollectiveDiagnose(cmd, f, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.format, "format", "", "form of the records: "+collectiveFormatNames())
	flags.BoolVar(&f.json, "json", false, "one JSON object instead of text")
	_ = cmd.MarkFlagRequired("format")
	return cmd
}

func runCollectiveDiagnose(cmd *cobra.Command, f collectiveFlags, paths []string) error {
	for _, format := range collectiveFormats() {
		if format.name != f.format {
			continue
		}
		d, err := format.run(paths, collective.Options{})
		if err != nil {
			return err
		}
		if f.json {
			return json.NewEncoder(cmd.OutOrStdout()).Encode(d)
		}
		_, err = fmt.Fprint(cmd.OutOrStdout(), d.Text)
		return err
	}
	return fmt.Errorf("--format %q: want one of %s", f.format, collectiveFormatNames())
}
