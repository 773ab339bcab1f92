// Package refdocs generates the reference pages: the configuration keys with the
// comments of their fields, the Prometheus metrics, the counters and metrics of links,
// and the command line. Tests use it to keep docs/reference up to date.
package refdocs

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/giverny/giverny/internal/settings"
	"github.com/giverny/giverny/schema"
)

const generated = "<!-- Made from the code by `make generate`. Do not edit. -->\n\n"

// Config writes the keys of a configuration, a pointer to a struct: default,
// environment variable and meaning, which is the comment of the field. The sections'
// types may be from any package of the module at dir.
func Config(w io.Writer, defaults any, dir, prefix string) error {
	fmt.Fprint(w, generated, "# Configuration\n\n",
		"A YAML file, named by `--config` or `GIVERNY_CONFIG`; every key can be overridden by an environment variable. Unknown keys are errors. Topologies, watched folders, and files of certificates, keys, passwords, tokens, node maps, rigs, graphs and baselines are relative to the file; other paths to the working directory. ",
		"`giverny config check` reads it and the fabrics it names, and makes every part inert; `--dump-config` prints what is in force.\n\n",
		"| key | default | variable | meaning |\n|---|---|---|---|\n")
	c := comments{dir: dir, packages: map[string]map[string]string{}}
	var errs []error
	settings.Walk(reflect.ValueOf(defaults).Elem(), func(path string, f settings.Field) {
		meaning, err := c.of(f)
		errs = append(errs, err)
		row := strings.ReplaceAll(path, ".0", "[]")
		switch t := f.Value.Type(); {
		case settings.IsSectionList(t):
			fmt.Fprintf(w, "| `%s` | | | %s |\n", row, meaning)
		case settings.IsSection(t):
			fmt.Fprintf(w, "| `%s` | | | **%s** |\n", row, strings.TrimSuffix(meaning, "."))
		default:
			text, err := settings.Value(f.Value)
			errs = append(errs, err)
			fmt.Fprintf(w, "| `%s` | `%s` | `%s` | %s |\n", row, strings.TrimSpace(text), settings.Variable(prefix, path), meaning)
		}
	})
	return errors.Join(errs...)
}

// comments are the field comments, loaded package by package.
type comments struct {
	dir      string
	packages map[string]map[string]string // by path, then by Type.Field
}

// of returns the comment of a key's field. A missing comment is an error.
func (c *comments) of(f settings.Field) (string, error) {
	if f.Description != "" {
		return f.Description, nil
	}
	path := f.Owner.PkgPath()
	if c.packages[path] == nil {
		_, below, _ := strings.Cut(path, "/giverny/giverny/")
		read, err := Comments(filepath.Join(c.dir, below))
		if err != nil {
			return "", err
		}
		c.packages[path] = read
	}
	name := f.Owner.Name() + "." + f.Name
	comment := c.packages[path][name]
	if comment == "" {
		return "", fmt.Errorf("%s of %s is the key %q and has no comment", name, path, f.Key)
	}
	return comment, nil
}

// Comments maps Type.Field to the field's comment, and Type to the type's, for the sources in a folder.
func Comments(dir string) (map[string]string, error) {
	comments := map[string]string{}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if d, ok := n.(*ast.GenDecl); ok && d.Tok == token.TYPE && len(d.Specs) == 1 {
				comments[d.Specs[0].(*ast.TypeSpec).Name.Name] = oneLine(d.Doc)
			}
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				for _, f := range s.Fields.List {
					for _, name := range fieldNames(f) {
						comments[spec.Name.Name+"."+name] = cmp.Or(oneLine(f.Doc), oneLine(f.Comment))
					}
				}
			}
			return true
		})
	}
	return comments, nil
}

func oneLine(c *ast.CommentGroup) string { return strings.Join(strings.Fields(c.Text()), " ") }

// fieldNames of an embedded field are its type's.
func fieldNames(f *ast.Field) (names []string) {
	for _, name := range f.Names {
		names = append(names, name.Name)
	}
	if embedded, ok := f.Type.(*ast.Ident); ok && len(names) == 0 {
		names = append(names, embedded.Name)
	}
	return names
}

// Recorder is a Registerer that records the metrics' descriptions.
type Recorder struct {
	prometheus.Registerer
	descriptions []string
}

// NewRecorder returns a Recorder with its own registry.
func NewRecorder() *Recorder { return &Recorder{Registerer: prometheus.NewRegistry()} }

// Register records the collector's metrics and registers it.
func (r *Recorder) Register(c prometheus.Collector) error {
	descs := make(chan *prometheus.Desc)
	go func() {
		c.Describe(descs)
		close(descs)
	}()
	for d := range descs {
		r.descriptions = append(r.descriptions, d.String())
	}
	return r.Registerer.Register(c)
}

// MustRegister is Register for several, and panics on an error.
func (r *Recorder) MustRegister(cs ...prometheus.Collector) {
	for _, c := range cs {
		if err := r.Register(c); err != nil {
			panic(err)
		}
	}
}

var description = regexp.MustCompile(`^Desc{fqName: "(giverny_[^"]*)", help: "(.*?)"(?:, unit: "[^"]*")?, constLabels: {(.*)}, variableLabels: {(.*)}}$`)

// constLabel is one label with its quoted value among the constLabels of a description.
var constLabel = regexp.MustCompile(`(\w+)="(?:[^"\\]|\\.)*"`)

// labels returns the names of a metric's labels, those with constant values first.
func labels(constant, variable string) string {
	var names []string
	for _, m := range constLabel.FindAllStringSubmatch(constant, -1) {
		names = append(names, m[1])
	}
	if variable != "" {
		names = append(names, strings.Split(variable, ",")...)
	}
	return strings.Join(names, ", ")
}

// WriteMetrics writes the page of Prometheus metrics.
func WriteMetrics(w io.Writer, r *Recorder) {
	fmt.Fprint(w, generated, "# Prometheus metrics\n\nEvery role serves these under `/metrics`. Counters with a reason are present from the start, at zero.\n\n",
		"| metric | labels | meaning |\n|---|---|---|\n")
	var rows []string
	for _, d := range r.descriptions {
		if m := description.FindStringSubmatch(d); m != nil {
			rows = append(rows, fmt.Sprintf("| `%s` | %s | %s |\n", m[1], labels(m[3], m[4]), strings.ReplaceAll(m[2], `\"`, `"`)))
		}
	}
	slices.Sort(rows)
	for _, row := range slices.Compact(rows) {
		io.WriteString(w, row)
	}
}

// WriteCounters writes the page of counters and the metrics derived from them.
func WriteCounters(w io.Writer) {
	fmt.Fprint(w, generated, "# Counters and metrics of links\n\n## Metrics\n\n| metric | unit | regions are grown on it | meaning |\n|---|---|---|---|\n")
	for m := schema.Metric(1); int(m) < schema.NumMetrics; m++ {
		grown := ""
		if m.IsStall() {
			grown = "yes"
		}
		fmt.Fprintf(w, "| `%s` | %s | %s | %s |\n", m, m.Unit(), grown, m.Help())
	}
	fmt.Fprint(w, "\n## Counters\n\nWhat devices report. The direction is that of the traffic or signal, as the port sees it: received (rx) or sent (tx). The link is the one that leaves the port (egress) or enters it (ingress): a port that receives pause frames pauses the link that leaves it. ",
		"A counter that becomes no metric is kept raw; so is one that is not in this table.\n\n",
		"| counter | unit | bits | at its maximum | direction | link | becomes | meaning |\n|---|---|---|---|---|---|---|---|\n")
	for _, c := range schema.Counters() {
		bits, end := fmt.Sprint(c.Width), [...]string{"wraps", "sticks"}[c.Overflow]
		if c.Width == 0 {
			bits, end = "gauge", ""
		}
		fmt.Fprintf(w, "| `%s` | %s | %s | %s | %s | %s | %s | %s |\n", c.Name, c.Unit, bits, end, [...]string{"", "rx", "tx"}[c.Direction], [...]string{"", "egress", "ingress"}[c.Side], c.Metric, c.Help)
	}
}

// WriteCLI writes the page of the command line.
func WriteCLI(w io.Writer, root *cobra.Command) {
	fmt.Fprint(w, generated, "# Command line\n\n| | commands |\n|---|---|\n")
	for _, group := range root.Groups() {
		var links []string
		for _, cmd := range root.Commands() {
			if cmd.GroupID == group.ID {
				links = append(links, fmt.Sprintf("[%s](#%s)", cmd.Name(), strings.ReplaceAll(cmd.CommandPath(), " ", "-")))
			}
		}
		fmt.Fprintf(w, "| %s | %s |\n", strings.TrimSuffix(group.Title, ":"), strings.Join(links, ", "))
	}
	fmt.Fprint(w, "\nFlags of every command:\n\n")
	writeFlags(w, root.PersistentFlags())
	writeCommand(w, root)
}

func writeCommand(w io.Writer, cmd *cobra.Command) {
	if cmd.Runnable() && !cmd.Hidden {
		text := cmp.Or(cmd.Long, cmd.Short+".")
		fmt.Fprintf(w, "\n## %s\n\n    %s\n\n%s\n", cmd.CommandPath(), cmd.UseLine(), text)
		if cmd.Example != "" {
			fmt.Fprintf(w, "\n```sh\n%s\n```\n", strings.TrimSpace(strings.ReplaceAll("\n"+cmd.Example, "\n  ", "\n")))
		}
		fmt.Fprintln(w)
		writeFlags(w, cmd.LocalNonPersistentFlags())
	}
	for _, sub := range cmd.Commands() {
		if !sub.Hidden && sub.Name() != "help" && sub.Name() != "completion" {
			writeCommand(w, sub)
		}
	}
}

func writeFlags(w io.Writer, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprint(w, "| flag | default | meaning |\n|---|---|---|\n")
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" || f.Name == "version" {
			return
		}
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		value := f.DefValue
		if value == "[]" {
			value = ""
		}
		if value != "" {
			value = "`" + value + "`"
		}
		fmt.Fprintf(w, "| `%s` | %s | %s |\n", name, value, f.Usage)
	})
}
