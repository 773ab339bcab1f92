package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"

	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/internal/plainfile"
	"github.com/giverny/giverny/internal/settings"
)

// need is what the value of a key must name on this host.
type need int

const (
	ownFile    need = iota + 1 // a file that belongs to the configuration: relative to the configuration file
	program                    // a program, or an argument vector that begins with one, on the PATH
	othersFile                 // a file or files that another program writes, perhaps later
	othersDir                  // a folder with such files
	dataDir                    // a folder that Giverny creates and writes
)

// needs lists the needs of keys, in any section. Data folders, programs, and files written by others are relative to the
// working directory.
var needs = map[string]need{"baseline": ownFile, "ca": ownFile, "cert": ownFile, "graph": ownFile, "key": ownFile, "key_file": ownFile,
	"node_map": ownFile, "password_file": ownFile, "rig": ownFile, "secret_file": ownFile, "token_file": ownFile, "tokens": ownFile,
	"command": program, "scontrol": program, "perfquery": program, "ibnetdiscover": program,
	"path": othersFile, "paths": othersFile, "data_dir": dataDir, "dir": dataDir, "runtime_dir": dataDir}

// unused lists keys whose value is not used while another key of the section is set.
var unused = map[string]string{"scontrol": "rest.url", "perfquery": "command", "ibnetdiscover": "command"}

// watchedDirs begins the paths of keys that are folders of others.
const watchedDirs = "collect.collectives.folders."

// Needs checks the files, programs and folders that the enabled sections name. It returns what will fail as an error, and as
// doubts what another program may still create. Nothing is created.
func (c *Config) Needs() (err error, doubts error) {
	type named struct {
		path  string
		field settings.Field
	}
	var keys []named
	values, off := map[string]reflect.Value{}, []string{}
	settings.Walk(reflect.ValueOf(c).Elem(), func(path string, f settings.Field) {
		keys, values[path] = append(keys, named{path, f}), f.Value
		if section, ok := strings.CutSuffix(path, "enabled"); ok && f.Value.Kind() == reflect.Bool && !f.Value.Bool() {
			off = append(off, section)
		}
	})
	var failing, doubtful faults.List
	check := func(path string, kind need, names []string) {
		for _, name := range names {
			switch err, later := kind.check(name); {
			case err != nil && later:
				doubtful.Add(path, "%w", err)
			case err != nil:
				failing.Add(path, "%w", err)
			}
		}
	}
	for _, key := range keys {
		section := strings.TrimSuffix(key.path, key.field.Key)
		kind := needs[key.field.Key]
		if strings.HasPrefix(key.path, watchedDirs) && kind == dataDir {
			kind = othersDir
		}
		other, has := values[section+unused[key.field.Key]]
		if kind == 0 || hasPrefixOf(section, off) || has && !other.IsZero() {
			continue
		}
		check(key.path, kind, kind.names(key.field.Value))
	}
	if c.Command.DrainedBy == command.DrainedBySlurm && c.Feedback.Slurm.REST.URL.IsEmpty() {
		check("command.drained_by", program, c.Feedback.Slurm.Scontrol[:1])
	}
	return failing.Err(), doubtful.Err()
}

func hasPrefixOf(path string, sections []string) bool {
	return slices.ContainsFunc(sections, func(section string) bool { return section != "" && strings.HasPrefix(path, section) })
}

// names returns what a value names.
func (n need) names(value reflect.Value) (names []string) {
	switch v := value.Interface().(type) {
	case string:
		names = []string{v}
	case []string:
		names = v
	}
	if n == program && len(names) > 1 {
		names = names[:1] // the others are its arguments
	}
	if len(names) == 1 && names[0] == "" {
		return nil
	}
	return names
}

// check returns what is wrong on this host, and whether that may change without a change of the configuration.
func (n need) check(name string) (err error, later bool) {
	switch n {
	case program:
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Errorf("%w: install it on this host, or give its path", err), false
		}
		return nil, false
	case dataDir:
		return writable(name), false
	}
	open := plainfile.Open // refuses what would block
	switch info, err := os.Stat(name); {
	case err != nil: // open says so
	case info.IsDir() && n != othersDir:
		return fmt.Errorf("%s is a folder; want a file", name), false
	case info.IsDir():
		open = os.Open
	case n == othersDir:
		return fmt.Errorf("%s is not a folder", name), false
	}
	f, err := open(name)
	if err != nil {
		return err, n != ownFile && errors.Is(err, fs.ErrNotExist)
	}
	return f.Close(), false
}

// writable returns why a folder cannot be written or, if it does not exist, created.
func writable(name string) error {
	const writeAndSearch = 2 | 1 // of access(2)
	for dir := filepath.Clean(name); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		switch {
		case (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)) && dir != filepath.Dir(dir):
			continue
		case err != nil:
			return err
		case !info.IsDir():
			return fmt.Errorf("%s is not a folder", dir)
		}
		if err := syscall.Access(dir, writeAndSearch); err != nil {
			return fmt.Errorf("this user cannot write in %s: %w", dir, err)
		}
		return nil
	}
}
