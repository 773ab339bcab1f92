// Package refdocs writes the reference pages that follow from the code: the
// configuration's keys with the comments of their fields, the Prometheus
// metrics as the source declares them, the counters and metrics of links, and
// the command line. It is used by tests, which keep docs/reference current.
package refdocs

import (
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
	"go.yaml.in/yaml/v3"

	"github.com/giverny/giverny/internal/settings"
	"github.com/giverny/giverny/schema"
)

const generated = "<!-- Made from the code by `make generate`. Do not edit. -->\n\n"

// Config writes the keys of a configuration struct: type, default, environment
// variable and the comment of the field in the sources of dir.
func Config(w io.Writer, defaults any, elements map[string]any, dir, prefix string) error {
	comments, err := fieldComments(dir)
	if err != nil {
		return err
	}
	fmt.Fprint(w, generated, "# Configuration\n\n",
		"A YAML file, named by `--config` or `GIVERNY_CONFIG`; every key can be overridden by an environment variable. Unknown keys are errors. ",
		"`giverny config check` reads it and the fabrics it names; `--dump-config` prints what is in force.\n\n",
		"| key | default | variable | meaning |\n|---|---|---|---|\n")
	configRows(w, reflect.ValueOf(defaults), elements, comments, "", prefix)
	return nil
}

func configRows(w io.Writer, v reflect.Value, elements map[string]any, comments map[string]string, path, variable string) {
	for _, f := range settings.Fields(v.Type()) {
		key, env, fv := path+f.Key, variable+"_"+strings.ToUpper(f.Key), v.FieldByIndex(f.Index)
		comment := comments[f.Owner.Name()+"."+f.Name]
		if fv.Kind() == reflect.Slice && fv.Type().Elem().Kind() == reflect.Struct {
			fmt.Fprintf(w, "| `%s` | | | %s |\n", key, comment)
			configRows(w, reflect.ValueOf(elements[key]), elements, comments, key+"[].", env+"_0")
			continue
		}
		if fv.Kind() == reflect.Struct {
			fmt.Fprintf(w, "| `%s` | | | **%s** |\n", key, strings.TrimSuffix(comment, "."))
			configRows(w, fv, elements, comments, key+".", env)
			continue
		}
		text, _ := yaml.Marshal(fv.Interface()) // a default of our own
		fmt.Fprintf(w, "| `%s` | `%s` | `%s` | %s |\n", key, strings.TrimSpace(string(text)), env, comment)
	}
}

// fieldComments maps Type.Field to the field's comment.
func fieldComments(dir string) (map[string]string, error) {
	comments := map[string]string{}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				for _, f := range s.Fields.List {
					for _, name := range f.Names {
						comments[spec.Name.Name+"."+name.Name] = strings.Join(strings.Fields(f.Doc.Text()), " ")
					}
				}
			}
			return true
		})
	}
	return comments, nil
}

// Recorder is a Registerer that keeps what the metrics say of themselves.
type Recorder struct {
	prometheus.Registerer
	descriptions []string
}

// NewRecorder makes a Recorder before a registry of its own.
func NewRecorder() *Recorder { return &Recorder{Registerer: prometheus.NewRegistry()} }

// Register notes the collector's metrics and registers it.
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

// WriteMetrics writes the page of Prometheus metrics.
func WriteMetrics(w io.Writer, r *Recorder) {
	fmt.Fprint(w, generated, "# Prometheus metrics\n\nEvery role serves these under `/metrics`. Counters with a reason are present from the start, at zero.\n\n",
		"| metric | labels | meaning |\n|---|---|---|\n")
	var rows []string
	for _, d := range r.descriptions {
		if m := description.FindStringSubmatch(d); m != nil {
			rows = append(rows, fmt.Sprintf("| `%s` | %s | %s |\n", m[1], strings.ReplaceAll(m[4], ",", ", "), strings.ReplaceAll(m[2], `\"`, `"`)))
		}
	}
	slices.Sort(rows)
	for _, row := range slices.Compact(rows) {
		io.WriteString(w, row)
	}
}

// WriteCounters writes the page of what is read from devices and made of it.
func WriteCounters(w io.Writer) {
	fmt.Fprint(w, generated, "# Counters and metrics of links\n\n## Metrics\n\n| metric | unit | regions are grown on it | meaning |\n|---|---|---|---|\n")
	for m := schema.Metric(1); int(m) < schema.NumMetrics; m++ {
		grown := ""
		if m.IsStall() {
			grown = "yes"
		}
		fmt.Fprintf(w, "| `%s` | %s | %s | %s |\n", m, m.Unit(), grown, m.Help())
	}
	fmt.Fprint(w, "\n## Counters\n\nWhat devices report. The link is the one that leaves the port (egress) or enters it (ingress). ",
		"A counter that becomes no metric is kept raw; so is one that is not in this table.\n\n",
		"| counter | unit | bits | at its maximum | link | becomes | meaning |\n|---|---|---|---|---|---|---|\n")
	for _, c := range schema.Counters() {
		bits, end := fmt.Sprint(c.Width), [...]string{"wraps", "sticks"}[c.Overflow]
		if c.Width == 0 {
			bits, end = "gauge", ""
		}
		fmt.Fprintf(w, "| `%s` | %s | %s | %s | %s | %s | %s |\n", c.Name, c.Unit, bits, end, [...]string{"", "egress", "ingress"}[c.Side], c.Metric, c.Help)
	}
}

// WriteCLI writes the page of the command line.
func WriteCLI(w io.Writer, root *cobra.Command) {
	fmt.Fprint(w, generated, "# Command line\n\nFlags of every command:\n\n")
	writeFlags(w, root.PersistentFlags())
	writeCommand(w, root)
}

func writeCommand(w io.Writer, cmd *cobra.Command) {
	if cmd.Runnable() && !cmd.Hidden {
		text := cmd.Long
		if text == "" {
			text = cmd.Short + "."
		}
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
