package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/giverny/giverny/internal/access"
)

// newToken creates tokens; it reads no configuration and writes no file.
func newToken() *cobra.Command {
	role := access.Viewer
	cmd := &cobra.Command{
		Use:   "token NAME",
		Short: "Make a token for the API, and its line for the file http.access.tokens",
		Long: "Generate a random token and print it once to standard error; it is not stored. The line for the file http.access.tokens, " +
			"which contains only its hash, goes to standard output.",
		Example: "  giverny token grafana --role viewer >> /etc/giverny/tokens",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			token, line, err := access.NewToken(args[0], role)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "The token (shown only once): %s\n", token.Reveal())
			fmt.Fprintln(cmd.OutOrStdout(), line)
			return nil
		},
	}
	cmd.Flags().TextVar(&role, "role", access.Viewer, "viewer (read), operator (also feedback and launches) or admin (also configuration and profiles)")
	return cmd
}
