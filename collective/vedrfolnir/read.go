package vedrfolnir

import "github.com/giverny/giverny/collective"

// Read reads the folder of one run.
func Read(paths []string) (collective.Run, error) { return collective.Run{}, nil }
