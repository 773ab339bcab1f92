package app

import (
	"bufio"
	"bytes"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/giverny/giverny/internal/atomicfile"
	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/topology"
)

// keptGraphs is the folder with a copy of the version of each fabric that came into force last, of fabrics that a
// file describes: a process that starts while such a file is damaged (an ibnetdiscover that failed, a host that
// went down while it was written) goes on with the copy, as one that runs already does.
type keptGraphs struct {
	dir string
	log *slog.Logger
}

func newKeptGraphs(cfg *config.Config, log *slog.Logger) keptGraphs {
	return keptGraphs{filepath.Join(cfg.DataDir, "topologies"), log}
}

func (k keptGraphs) file(fabric string) string {
	return filepath.Join(k.dir, url.PathEscape(fabric)+".yaml")
}

// origin is the first line of a copy: a copy of another file says nothing of the one that is configured now.
func origin(path string) string {
	if whole, err := filepath.Abs(path); err == nil {
		path = whole
	}
	return fmt.Sprintf("# copy of %q, as it was read last\n", path)
}

// keep writes the copy of a version that is in force. That it cannot is no reason to do without the version.
func (k keptGraphs) keep(path string, g *topology.Graph) {
	var text bytes.Buffer
	text.WriteString(origin(path))
	err := topology.Write(&text, g)
	if was, readErr := os.ReadFile(k.file(g.Fabric())); err == nil && readErr == nil && bytes.Equal(was, text.Bytes()) {
		return
	}
	if err == nil {
		err = os.MkdirAll(k.dir, 0o700)
	}
	if err == nil {
		err = atomicfile.Write(k.file(g.Fabric()), text.Bytes())
	}
	if err != nil {
		k.log.Info("topology: no copy kept for a start with a damaged file", "fabric", g.Fabric(), "error", err)
	}
}

// last is the version of a fabric that came into force last; nil if there is no copy of the configured file.
func (k keptGraphs) last(f config.Fabric) *topology.Graph {
	copied, err := os.Open(k.file(f.Name))
	if err != nil {
		return nil
	}
	first, _ := bufio.NewReader(copied).ReadString('\n')
	copied.Close()
	if first != origin(f.Topology) {
		return nil
	}
	g, err := config.ReadTopology(k.file(f.Name), "yaml", f.Name, nil, k.log)
	if err != nil {
		k.log.Warn("topology: copy of the version that came into force last not read", "fabric", f.Name, "error", err)
		return nil
	}
	return g
}

// stale says of a fabric that the version before stays in force, and why.
func stale(err error) string {
	return "its file is refused, the version before stays in force: " + strings.TrimSpace(err.Error())
}
