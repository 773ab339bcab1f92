package main

import (
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
		{"vedrfolnir", "a recorded run of Vedrfolnir's ns-3 simulation, a folder", vedrfolnir.Read},
	}
}

// collectiveFormatNames lists the forms for help and errors.
func collectiveFormatNames() string {
	var names []string
	for _, f := range collectiveFormats() {
		names = append(names, f.name)
	}
	return strings.Join(names, ", ")
}
