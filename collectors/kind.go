package collectors

// Kind describes a kind of source, independent of its configuration. The configuration
// sections, command-line choices and reference pages are derived from the list of kinds
// (package registry).
type Kind struct {
	// Name of the source in its batches, its section and --source.
	Name string
	// Description is a sentence about what it reads.
	Description string
	// Workers is the default number of devices read in parallel.
	Workers int
	// NewConfig returns the source's configuration with defaults: a pointer to a struct
	// whose fields are keys of the section.
	NewConfig func() SourceConfig
}

// SourceConfig is the configuration of a kind of source.
type SourceConfig interface {
	// Validate joins all errors; each begins with its key.
	Validate() error
	// Open creates the source for the host of this name. It reads no counters and
	// starts nothing.
	Open(host string) (Collector, error)
}
