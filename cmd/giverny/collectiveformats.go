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

	// diagnose takes the place of read and collective.Diagnose where the records say
	// no times of steps.
	diagnose func(paths []string, opt collective.Options) (collective.Diagnosis, error)
}

// collectiveFormats are the forms that giverny collective diagnose reads. A further
// one is a package below collective and a line here.
func collectiveFormats() []collectiveFormat {
	return []collectiveFormat{
		{name: "vedrfolnir", help: "a recorded run of Vedrfolnir's ns-3 simulation, a folder", read: vedrfolnir.Read},
		{name: "flight-recorder", help: "dumps of PyTorch's Flight Recorder, a folder or files named by rank", diagnose: diagnoseFlightRecorder},
		{name: "simulated", help: "the folder of giverny simulate collective", read: readSimulated},
	}
}

// run reads the records of one job and diagnoses them.
func (f *collectiveFormat) run(paths []string, opt collective.Options) (collective.Diagnosis, error) {
	if f.diagnose != nil {
		return f.diagnose(paths, opt)
	}
	run, err := f.read(paths)
	if err != nil {
		return collective.Diagnosis{}, err
	}
	return collective.Diagnose(run, opt), nil
}

// collectiveFormatNames lists the forms for help and errors.
func collectiveFormatNames() string {
	var names []string
	for _, f := range collectiveFormats() {
		names = append(names, f.name)
	}
	return strings.Join(names, ", ")
}
