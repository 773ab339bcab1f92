// Command giverny watches the links of RDMA and HPC fabrics, finds regions of congested
// traffic and stores its findings. It is one binary with a subcommand per role.
// Commands parse flags, call one package and print the result; internal/app assembles
// the processes.
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
	"github.com/spf13/pflag"

	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/logs"
	"github.com/giverny/giverny/internal/settings"
)

// version is set at build time.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process immediately
	root := newRoot()
	if cmd, err := execute(ctx, root, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "giverny:", explained(cmd, err))
		os.Exit(exitStatus(err))
	}
}

// execute runs a command. A failed write to out is an error, even if the command ignores it.
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

// interruptedError is the error of a command ended by a signal: its output is not a result.
type interruptedError struct{ err error }

func (e *interruptedError) Error() string {
	return strings.ReplaceAll(e.err.Error(), context.Canceled.Error(), "interrupted, without a result")
}
func (e *interruptedError) Unwrap() error { return e.err }

// ExitStatus is the one of shells, instead of the command's own.
func (e *interruptedError) ExitStatus() int { return statusInterrupted }

// checkedWriter remembers the first write error.
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

// exitStatus is 1, unless the error defines another: 2 if a plug-in or device has
// failed.
func exitStatus(err error) int {
	var coded interface{ ExitStatus() int }
	if errors.As(err, &coded) {
		return coded.ExitStatus()
	}
	return 1
}

// flagForms says what the value of a flag of a type must be.
var flagForms = map[string]string{"duration": "a duration with its unit, such as 60s or 5m", "int": "a whole number", "int64": "a whole number",
	"uint64": "a whole number, 0 or more", "float64": "a number", "bool": "true or false"}

// newRoot returns the root command with all subcommands.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "giverny",
		Short:         "See, explain and act on congestion in RDMA and HPC fabrics",
		Long:          "See, explain and act on congestion in RDMA and HPC fabrics. Begin with giverny demo,\nwhich needs no configuration and no servers.\n\nThe exit status is 1 after an error, 2 if an engine or a prober has failed, and 130 if\na signal ended a command before it had a result.",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version,
	}
	g := &globals{}
	flags := root.PersistentFlags()
	flags.StringVarP(&g.configFile, "config", "c", os.Getenv(config.FileVariable), "configuration file; also set by "+config.FileVariable)
	flags.BoolVar(&g.dumpConfig, "dump-config", false, "print the effective configuration without secrets, and exit")
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if !g.dumpConfig {
			return cmd.Help()
		}
		_, _, err := g.load(cmd)
		return err
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetVersionTemplate("giverny {{.Version}}\n") // as the subcommand
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
			if want := flagForms[invalid.GetFlag().Value.Type()]; want != "" {
				return fmt.Errorf("--%s %q: want %s", invalid.GetFlag().Name, invalid.GetValue(), want)
			}
		}
		return fmt.Errorf("%w; %q lists them", err, cmd.CommandPath()+" --help")
	})
	addCommands(root, g)
	g.flushAfter(root)
	return root
}

// addCommands adds all subcommands, in the groups of the help.
func addCommands(root *cobra.Command, g *globals) {
	for _, group := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Try it:", []*cobra.Command{newDemo(g), newSimulate(g)}},
		{"Monitor a fabric:", []*cobra.Command{newUp(g), newCollect(g), newAnalyze(g), newServe(g), newReport(g), newAgents(g), newFeedback(g)}},
		{"Set it up:", []*cobra.Command{newTopology(g), newConfig(g), newMigrate(g), newToken()}},
		{"Analyse recorded data:", []*cobra.Command{newSegment(g), newDiagnose(g), newCounters(), newReplay(g)}},
		{"Look into hosts, NICs and collectives:", []*cobra.Command{newHostping(g), newSearch(g), newCollective(g)}},
	} {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title})
		for _, c := range group.commands {
			c.GroupID = group.title
		}
		root.AddCommand(group.commands...)
	}
	root.AddCommand(newVersion(), newEngine())
}

// newFolder returns a command that only groups others: by itself it prints help.
func newFolder(use, short string) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
}

// statusInterrupted is the exit status of a command interrupted by a signal, as in shells: 128 plus the number of SIGINT.
const statusInterrupted = 128 + int(syscall.SIGINT)

// endAtOnce makes a signal end the process immediately until the returned function is called. It is for commands
// that only read files: reading a terminal or pipe may block forever, and there is nothing to drain.
func endAtOnce(cmd *cobra.Command) (stop func() bool) {
	return context.AfterFunc(cmd.Context(), func() { os.Exit(statusInterrupted) })
}

// globals are the flags of every subcommand.
type globals struct {
	configFile string
	dumpConfig bool
	log        *slog.Logger // created by load
}

// errDumped ends a command that only prints its configuration.
var errDumped = errors.New("configuration printed")

// load reads the configuration and creates the logger.
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
		g.log.Warn("config: file contains secrets and is world-readable; run chmod o-r on it, or use the keys that end in _file (password_file, token_file, secret_file)", "file", g.configFile, "keys", keys)
	}
	return cfg, g.log, nil
}

// flushAfter makes all commands write, at their end, the pending summaries of their log.
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

// fabricFlag adds --fabric for commands that need one of the configured fabrics.
func fabricFlag(flags *pflag.FlagSet, fabric *string) {
	flags.StringVar(fabric, "fabric", "", "the fabric; may be left out if there is only one")
}

// newLog returns a logger for a short-lived command without configuration. It logs to standard error, so
// that standard output has only results.
func newLog(cmd *cobra.Command, cfg logs.Config) *slog.Logger {
	return logs.NewVerbose(cfg, cmd.ErrOrStderr())
}
