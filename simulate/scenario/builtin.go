package scenario

import (
	"embed"
	"fmt"
	"slices"
	"strings"
)

//go:embed stories/*.yaml
var stories embed.FS

// BuiltinNames lists the built-in stories.
func BuiltinNames() []string {
	entries, err := stories.ReadDir("stories")
	if err != nil {
		panic("scenario: the embedded stories are missing: " + err.Error())
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	slices.Sort(names)
	return names
}

// Builtin returns a built-in story.
func Builtin(name string) (*Script, error) {
	f, err := stories.Open("stories/" + name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("no story %q; want one of %s, or a file", name, strings.Join(BuiltinNames(), ", "))
	}
	defer f.Close()
	return Read(f, name)
}
