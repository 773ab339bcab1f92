package failures

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/giverny/giverny/collectors/feeds"
	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/internal/plainfile"
)

// LogConfig configures logs to follow.
type LogConfig struct {
	// The files, followed across rotation: netwatch, opensm, syslog, kernel logs, ibdiagnet reports, tables.
	Paths []string `yaml:"paths,flow"`
	// table, opensm, ibdiagnet, netwatch or syslog; empty: detected for each line.
	Format string `yaml:"format"`
	// The time zone of times without one: a name such as Europe/Berlin, UTC or Local.
	TimeZone string `yaml:"time_zone"`
	// Read a file from its start instead of its end, if it has never been read before.
	FromStart bool `yaml:"from_start"`
	// The host of lines without a host name (dmesg); empty: this host.
	Host string `yaml:"host"`
}

// LogKind is the entry in the registry.
func LogKind() feeds.Kind {
	return feeds.Kind{Name: "log", Description: "Logs of the fabric and its hosts: netwatch, opensm, syslog, ibdiagnet, tables.", Interval: time.Second, NewConfig: func() feeds.SourceConfig {
		return &LogConfig{TimeZone: "Local"}
	}}
}

// Validate joins all errors. Paths may be empty while the feed is disabled; Open checks that.
func (c *LogConfig) Validate() error {
	var f faults.List
	f.Check(c.Format == "" || slices.Contains(Formats(), c.Format), "format", "%q: want %s, or empty", c.Format, strings.Join(Formats(), ", "))
	_, err := time.LoadLocation(c.zone())
	f.Check(err == nil, "time_zone", "%q: want a name of the time zone database such as Europe/Berlin, UTC or Local", c.TimeZone)
	return f.Err()
}

func (c *LogConfig) zone() string {
	if c.TimeZone == "" {
		return "Local"
	}
	return c.TimeZone
}

// Open creates the source. It does not read the logs yet.
func (c *LogConfig) Open(env feeds.Env) (feeds.Source, error) {
	if len(c.Paths) == 0 {
		return nil, errors.New("paths: empty; want the logs to follow")
	}
	zone, err := time.LoadLocation(c.zone())
	if err != nil {
		return nil, err
	}
	host := c.Host
	if host == "" {
		host = env.Host
	}
	var saved map[string]position
	if _, err := env.Store.Load(&saved, env.Log); err != nil {
		return nil, err
	}
	s := &logs{store: env.Store, log: env.Log}
	for _, path := range c.Paths {
		parser, err := NewParser(Options{Format: c.Format, Zone: zone, Host: host, Name: path})
		if err != nil {
			return nil, err
		}
		f := &follower{path: path, fromStart: c.FromStart}
		f.at, f.begun = saved[path]
		s.logs = append(s.logs, &followed{follower: f, parser: parser})
	}
	return s, nil
}

// logs is a feed of several followed logs.
type logs struct {
	logs  []*followed
	first int // the log to read first, after those that filled the last read
	store *feeds.Store
	log   *slog.Logger
	saved map[string]position
}

type followed struct {
	follower *follower
	parser   *Parser
	lost     int // already reported
}

// Read reads the lines appended to each log.
func (s *logs) Read(ctx context.Context, now time.Time) (rows feeds.Rows, err error) {
	var errs []error
	full := func() bool { return rows.Len() >= feeds.MaxRows || ctx.Err() != nil }
	first := s.first
	for i := range s.logs {
		at := (first + i) % len(s.logs)
		l := s.logs[at]
		if s.first = at; full() {
			rows.More = true
			break
		}
		l.parser.Refer(Reference(l.follower.path, now))
		more, err := l.follower.read(sink{func(text string) { l.parser.Line(text, &rows) }, func() { rows.Refuse(feeds.TooLong, l.follower.path, "line too long") }, full})
		rows.More = rows.More || more
		if err != nil {
			errs = append(errs, fmt.Errorf("log: %w", plainfile.Naming(l.follower.path, err)))
		}
		if n := l.follower.lost; n > l.lost {
			rows.Drop(feeds.Rotated, uint64(n-l.lost))
			l.lost = n
			s.log.Warn("failures: log was rotated away before its end was read, lines lost", "path", l.follower.path)
		}
	}
	return rows, errors.Join(errs...)
}

// Reference returns a time shortly after the last line: the modification time, which for an old file determines the year.
func Reference(path string, now time.Time) time.Time {
	if info, err := os.Stat(path); err == nil && info.ModTime().Before(now) {
		return info.ModTime()
	}
	return now
}

// Commit saves the positions if they have changed.
func (s *logs) Commit() error {
	now := map[string]position{}
	moved := false
	for _, l := range s.logs {
		if !l.follower.begun {
			continue
		}
		now[l.follower.path] = l.follower.at
		moved = moved || s.saved[l.follower.path] != l.follower.at
	}
	if !moved {
		return nil
	}
	if err := s.store.Save(now); err != nil {
		return err
	}
	s.saved = now
	return nil
}
