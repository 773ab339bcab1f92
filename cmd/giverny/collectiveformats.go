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

	// diagnose takes the place of read and collective.Diagnose where the records say
	// no times of steps.
	diagnose func(paths []string, opt collective.Options) (collective.Diagnosis, error)

	// instead says that the files are of another form, which then reads them; nil: it
	// is not asked.
	instead func(paths []string) (read func(paths []string) (collective.Run, error))
}

// collectiveFormats are the forms that giverny collective diagnose reads. A further
// one is a package below collective and a line here.
func collectiveFormats() []collectiveFormat {
	return []collectiveFormat{
		{name: "vedrfolnir", help: "a recorded run of Vedrfolnir's ns-3 simulation: out/fct.txt, and as far as there are topology.txt, data/telemetry_N.txt, flow.txt, out/pfc.txt", read: vedrfolnir.Read},
		{name: "flight-recorder", help: "dumps of PyTorch's Flight Recorder, a folder or files named by rank", diagnose: diagnoseFlightRecorder},
		{name: "nccl-inspector", help: "what NCCL's Inspector profiler plug-in writes, a folder or files", diagnose: diagnoseInspector, instead: profilerInstead},
		{name: "nccl-profiler", help: "traces of NCCL's example profiler plug-in (Chrome trace events), a folder or files, of all ranks", read: readProfiler},
		{name: "simulated", help: "the folder of giverny simulate collective", read: readSimulated},
	}
}

// run reads the records of one job and diagnoses them. The run is empty where the form
// has no times of steps.
func (f *collectiveFormat) run(paths []string, opt collective.Options) (collective.Run, collective.Diagnosis, error) {
	read := f.read
	if f.instead != nil {
		read = f.instead(paths)
	}
	if read == nil {
		d, err := f.diagnose(paths, opt)
		return collective.Run{}, d, err
	}
	run, err := read(paths)
	if err != nil {
		return run, collective.Diagnosis{}, err
	}
	return run, collective.Diagnose(run, opt), nil
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
