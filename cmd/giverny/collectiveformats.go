package main

import (
	"fmt"
	"strings"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/collective/vedrfolnir"
)

// collectiveFormat is a form of recorded collectives. Read takes the folder or files
// of one job; its errors name the file, the line and what to do.
type collectiveFormat struct {
	name, help string
	read       func(paths []string) (collective.Run, error)
}

// collectiveFormats are the forms that giverny collective diagnose reads. A further
// one is a package below collective and a line here.
func collectiveFormats() []collectiveFormat {
	return []collectiveFormat{
		{"vedrfolnir", "a recorded run of Vedrfolnir's ns-3 simulation: out/fct.txt, and as far as there are topology.txt, data/telemetry_N.txt, flow.txt, out/pfc.txt", vedrfolnir.Read},
	}
}

func collectiveFormatOf(name string) (collectiveFormat, error) {
	for _, f := range collectiveFormats() {
		if f.name == name {
			return f, nil
		}
	}
	return collectiveFormat{}, fmt.Errorf("--format %q: want one of %s", name, collectiveFormatNames())
}

// collectiveFormatNames lists the forms for help and errors.
func collectiveFormatNames() string {
	var names []string
	for _, f := range collectiveFormats() {
		names = append(names, f.name)
	}
	return strings.Join(names, ", ")
}

// collectiveFormatHelp has a line for each form.
func collectiveFormatHelp() string {
	var b strings.Builder
	for _, f := range collectiveFormats() {
		fmt.Fprintf(&b, "  %s: %s\n", f.name, f.help)
	}
	return b.String()
}
