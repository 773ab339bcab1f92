package jobs

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/giverny/giverny/collectors/feeds"
	"github.com/giverny/giverny/internal/faults"
)

// SqueueConfig configures squeue.
type SqueueConfig struct {
	// The argument vector that prints the queue as JSON, including jobs that ended recently; no shell. Slurm 21.08 or newer.
	Command []string `yaml:"command,flow"`
	// Use slurmctld's job numbers as ids, not 123_4 for an element of an array.
	RawIDs bool `yaml:"raw_ids"`

	Limits Limits `yaml:",inline"`
}

// SqueueKind is the entry in the registry.
func SqueueKind() feeds.Kind {
	return feeds.Kind{Name: "squeue", Description: "Slurm's queue, from squeue --json.", Interval: 30 * time.Second, NewConfig: func() feeds.SourceConfig {
		return &SqueueConfig{Command: []string{"squeue", "--json", "--states=all"}, Limits: defaultLimits()}
	}}
}

// Validate joins all errors.
func (c *SqueueConfig) Validate() error {
	var f faults.List
	checkCommand(&f, c.Command)
	c.Limits.validate(&f)
	return f.Err()
}

func checkCommand(f *faults.List, argv []string) {
	f.Check(len(argv) > 0 && argv[0] != "", "command", "empty; want a program and its arguments")
}

// Open creates the source. Nothing is run yet.
func (c *SqueueConfig) Open(env feeds.Env) (feeds.Source, error) {
	return newSource(&squeue{c}, c.Limits, env)
}

type squeue struct{ cfg *SqueueConfig }

func (s *squeue) list(ctx context.Context, _, _ time.Time) (list List, err error) {
	err = feeds.Run(ctx, s.cfg.Command, nil, func(out io.Reader) (err error) {
		list, err = ReadSlurmJSON(out, s.cfg.Command[0], SlurmOptions{RawIDs: s.cfg.RawIDs})
		return err
	})
	list.Prompt = true
	return list, err
}

// SacctConfig configures sacct.
type SacctConfig struct {
	// The program and its first arguments, without a shell; Giverny adds more arguments.
	Command []string `yaml:"command,flow"`
	// How far back the first query goes; also the maximum for later queries.
	Lookback time.Duration `yaml:"lookback"`
	// How much each query overlaps the previous one, for jobs that are accounted late.
	Overlap time.Duration `yaml:"overlap"`
	// Use slurmctld's job numbers as ids, not 123_4 for an element of an array.
	RawIDs bool `yaml:"raw_ids"`

	Limits Limits `yaml:",inline"`
}

// SacctKind is the entry in the registry.
func SacctKind() feeds.Kind {
	return feeds.Kind{Name: "sacct", Description: "Slurm's accounting, from sacct.", Interval: time.Minute, NewConfig: func() feeds.SourceConfig {
		return &SacctConfig{Command: []string{"sacct"}, Lookback: 24 * time.Hour, Overlap: 10 * time.Minute, Limits: defaultLimits()}
	}}
}

// Validate joins all errors.
func (c *SacctConfig) Validate() error {
	var f faults.List
	checkCommand(&f, c.Command)
	f.Check(c.Lookback >= time.Minute, "lookback", "%v: want 1m or more", c.Lookback)
	f.Check(c.Overlap >= 0, "overlap", "%v: want 0 or more", c.Overlap)
	c.Limits.validate(&f)
	return f.Err()
}

// Open creates the source. Nothing is run yet.
func (c *SacctConfig) Open(env feeds.Env) (feeds.Source, error) {
	return newSource(&sacct{c, env.Log}, c.Limits, env)
}

type sacct struct {
	cfg *SacctConfig
	log *slog.Logger
}

// sacctDelimiter separates fields: only a malicious job name contains a unit separator, and JobName is the last field.
const sacctDelimiter = "\x1f"

// sacctEnviron makes sacct print seconds since 1970 and parse times as UTC, independent of the host's zone.
var sacctEnviron = [...]string{"SLURM_TIME_FORMAT=%s", "TZ=UTC"}

func (s *sacct) arguments(now, since time.Time) []string {
	from := since.Add(-s.cfg.Overlap)
	if earliest := now.Add(-s.cfg.Lookback); from.Before(earliest) {
		if !since.IsZero() {
			s.log.Warn("jobs: accounting not queried, older than lookback", "from", from, "to", earliest)
		}
		from = earliest
	}
	return append(append([]string(nil), s.cfg.Command...), "--allusers", "--allocations", "--duplicates", "--parsable2",
		"--delimiter="+sacctDelimiter, "--starttime="+from.UTC().Format("2006-01-02T15:04:05"),
		"--format=JobID,JobIDRaw,User,State,Start,End,NodeList,JobName")
}

// list queries the jobs that ran at any time since the last query. They include all running jobs, but accounting
// purges and lags, so a missing job has not necessarily ended.
func (s *sacct) list(ctx context.Context, now, since time.Time) (list List, err error) {
	err = feeds.Run(ctx, s.arguments(now, since), sacctEnviron[:], func(out io.Reader) (err error) {
		list, err = ReadSacct(out, s.cfg.Command[0], SacctOptions{RawIDs: s.cfg.RawIDs})
		return err
	})
	list.Prompt, list.Window = true, true // slurmctld reports starts immediately
	return list, err
}
