package collectors

// Kind is a kind of source: what is known of it before it is configured. From the
// list of kinds (package registry) follow the configuration's sections, the
// choices of the command line and the reference pages.
type Kind struct {
	// Name of the source, as its batches, its section and --source have it.
	Name string
	// Description is a sentence on what it reads.
	Description string
	// Workers is how many of its devices are read side by side, unless the
	// section says otherwise.
	Workers int
	// NewConfig makes the source's own configuration with its defaults: a pointer
	// to a struct, whose fields are keys of the section.
	NewConfig func() SourceConfig
}

// SourceConfig is the configuration of one kind of source.
type SourceConfig interface {
	// Validate joins all faults; each begins with its key.
	Validate() error
	// Open makes the source for the host of this name. It reads no counter and
	// starts nothing.
	Open(host string) (Collector, error)
}
