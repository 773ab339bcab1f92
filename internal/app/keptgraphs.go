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

// keptGraphs is a folder with a copy of the last topology version in force of each fabric that a file describes:
// if that file is damaged when a process starts (a failed ibnetdiscover, a host that crashed while writing), it
// uses the copy, as a running process would.
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

// origin is the first line of a copy: it names the original file, so that the copy of another file is not used.
func origin(path string) string {
	if whole, err := filepath.Abs(path); err == nil {
		path = whole
	}
	return fmt.Sprintf("# copy of %q, as it was read last\n", path)
}

// keep writes a copy of the version in force. Failures are only logged.
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
		k.log.Info("topology: saving a copy for a start with a damaged file failed", "fabric", g.Fabric(), "error", err)
	}
}

// last returns the last version in force of a fabric; nil if there is no copy of the configured file.
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
		k.log.Warn("topology: saved copy of the last version in force not readable", "fabric", f.Name, "error", err)
		return nil
	}
	return g
}

// stale says that the previous version of a fabric stays in force, and why.
func stale(err error) string {
	return "its file is rejected, the previous version stays in force: " + strings.TrimSpace(err.Error())
}
