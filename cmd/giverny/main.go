// Command giverny watches the links of RDMA and HPC fabrics, finds the regions
// where traffic is congested and keeps what it finds. It is one binary with a
// subcommand per role: flags and arguments go in, one call of a package follows,
// and what it gives is printed. Parts are wired and run by internal/app.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/logs"
	"github.com/giverny/giverny/internal/settings"
)

// version is set when the binary is built.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	root := newRoot()
	if cmd, err := execute(ctx, root, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "giverny:", explained(cmd, err))
		os.Exit(exitStatus(err))
	}
}

// execute runs a command. What it could not write to out is an error, also where the command does not look.
func execute(ctx context.Context, root *cobra.Command, out io.Writer) (*cobra.Command, error) {
	checked := &checkedWriter{out: out}
	root.SetOut(checked)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil || errors.Is(err, errDumped) {
		err = checked.err
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = &interruptedError{err}
	}
	return cmd, err
}

// interruptedError is the error of a command that a signal ended: what was printed until then is no result.
type interruptedError struct{ err error }

func (e *interruptedError) Error() string {
	return strings.ReplaceAll(e.err.Error(), context.Canceled.Error(), "interrupted, without a result")
}
func (e *interruptedError) Unwrap() error { return e.err }

// ExitStatus is a shell's, whatever the command's own would be.
func (e *interruptedError) ExitStatus() int { return statusInterrupted }

// checkedWriter remembers the first error of a writer.
type checkedWriter struct {
	out io.Writer
	mu  sync.Mutex // guards err
	err error
}

func (c *checkedWriter) Write(p []byte) (int, error) {
	n, err := c.out.Write(p)
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.err = cmp.Or(c.err, err)
	}
	return n, err
}

// exitStatus is 1, unless an error says otherwise: 2 where a plug-in or a device has
// failed.
func exitStatus(err error) int {
	var coded interface{ ExitStatus() int }
	if errors.As(err, &coded) {
		return coded.ExitStatus()
	}
	return 1
}

// newRoot is the command with all its subcommands.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "giverny",
		Short:         "See, explain and act on congestion in RDMA and HPC fabrics",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version,
	}
	g := &globals{}
	flags := root.PersistentFlags()
	flags.StringVarP(&g.configFile, "config", "c", os.Getenv(config.FileVariable), "configuration file; "+config.FileVariable+" names it too")
	flags.BoolVar(&g.dumpConfig, "dump-config", false, "print the configuration in force, without secrets, and exit")
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if !g.dumpConfig {
			return cmd.Help()
		}
		_, _, err := g.load(cmd)
		return err
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w; %q lists them", err, cmd.CommandPath()+" --help")
	})
	root.AddCommand(
		newDemo(g), newUp(g), newCollect(g), newAgents(g), newAnalyze(g), newServe(g), newReplay(g), newSimulate(g), newSegment(g), newDiagnose(g), newReport(g), newTopology(g), newMigrate(g), newConfig(g),
		newSearch(g), newHostping(g), newCollective(g), newFeedback(g), newToken(), newVersion(), newEngine(),
	)
	g.flushAfter(root)
	return root
}

// newFolder is a command that only holds others: alone it lists them.
func newFolder(use, short string) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
}

// statusInterrupted is the exit status of a command that a signal ended, as shells have it: 128 and SIGINT's number.
const statusInterrupted = 128 + int(syscall.SIGINT)

// endAtOnce makes a signal end the process at once until the function that it returns is called. It is for commands
// that only read files: one may wait for ever on a terminal or a pipe, and there is nothing to hand on.
func endAtOnce(cmd *cobra.Command) (stop func() bool) {
	return context.AfterFunc(cmd.Context(), func() { os.Exit(statusInterrupted) })
}

// globals are the flags that every subcommand has.
type globals struct {
	configFile string
	dumpConfig bool
	log        *slog.Logger // what load has made
}

// errDumped ends a command that was only asked for its configuration.
var errDumped = errors.New("configuration printed")

// load reads the configuration and makes the log.
func (g *globals) load(cmd *cobra.Command) (config.Config, *slog.Logger, error) {
	reading := endAtOnce(cmd)
	cfg, err := config.Load(g.configFile, os.Environ())
	reading()
	if err != nil {
		return cfg, nil, err
	}
	if g.dumpConfig {
		return cfg, nil, errors.Join(settings.Dump(cmd.OutOrStdout(), &cfg), errDumped)
	}
	g.log = logs.New(cfg.Log, cmd.ErrOrStderr())
	if keys := cfg.Exposed(); len(keys) > 0 {
		g.log.Warn("config: file holds secrets and everybody on this host can read it; chmod o-r it, or use the key with _file at its end (password_file, token_file, secret_file)", "file", g.configFile, "keys", keys)
	}
	return cfg, g.log, nil
}

// flushAfter makes all commands write, at their end, what their log has summed up.
func (g *globals) flushAfter(folder *cobra.Command) {
	for _, cmd := range folder.Commands() {
		g.flushAfter(cmd)
		if run := cmd.RunE; run != nil {
			cmd.RunE = func(cmd *cobra.Command, args []string) error {
				defer func() {
					if g.log != nil {
						logs.Flush(g.log)
					}
				}()
				return run(cmd, args)
			}
		}
	}
}

// newLog is for a command that reads no configuration and ends soon. It writes to standard error, so that
// results alone are on standard output.
func newLog(cmd *cobra.Command, cfg logs.Config) *slog.Logger {
	return logs.NewVerbose(cfg, cmd.ErrOrStderr())
}
