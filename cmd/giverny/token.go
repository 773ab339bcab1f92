package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/giverny/giverny/internal/access"
)

// newToken makes tokens; it reads no configuration and writes no file.
func newToken() *cobra.Command {
	role := access.Viewer
	cmd := &cobra.Command{
		Use:   "token NAME",
		Short: "Make a token for the API, and its line for the file http.access.tokens",
		Long: "Makes a random token and prints it to standard error, once: it is kept nowhere. The line for the file http.access.tokens, " +
			"which has its hash alone, goes to standard output.",
		Example: "  giverny token grafana --role viewer >> /etc/giverny/tokens",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			token, line, err := access.NewToken(args[0], role)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "The token, which is shown this once: %s\n", token.Reveal())
			fmt.Fprintln(cmd.OutOrStdout(), line)
			return nil
		},
	}
	cmd.Flags().TextVar(&role, "role", access.Viewer, "viewer (reads), operator (feedback and launches, too) or admin (configuration and profiles, too)")
	return cmd
}
