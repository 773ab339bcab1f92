package agent

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/giverny/giverny/collective/report"
	"github.com/giverny/giverny/collective/watch"
	"github.com/giverny/giverny/collectors/feeds"
	"github.com/giverny/giverny/collectors/nodes"
	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/topology"
)

// recordFolders watches folders of collective records, and publishes the diagnoses like
// agents' results.
type recordFolders struct {
	watcher *watch.Watcher
	out     command.Publisher // set before the watcher runs
	agent   string
	parts   map[string]int       // partitions by fabric
	maps    map[string]nodes.Map // by folder
	folders []watch.Folder

	mu     sync.Mutex
	graphs map[string]*topology.Graph // by fabric; guarded by mu
}

// newRecordFolders creates the watcher; nil if no folder is watched. It reads only node
// maps.
func newRecordFolders(cfg *config.Config, agent string, deps Deps) (*recordFolders, error) {
	watched := cfg.Collect.Collectives
	if !watched.Enabled() {
		return nil, nil
	}
	r := &recordFolders{agent: agent, parts: config.PartitionOf(cfg.Fabrics), maps: map[string]nodes.Map{}, graphs: map[string]*topology.Graph{}}
	for _, g := range deps.Graphs {
		r.graphs[g.Fabric()] = g
	}
	r.folders = append(r.folders, watched.Folders...)
	for i := range r.folders {
		f := &r.folders[i]
		f.Fabric = cmp.Or(f.Fabric, cfg.Collect.Polling.Fabric)
		var err error
		if r.maps[f.Dir], err = nodes.OpenMap(os.Open, f.NodeMap); err != nil {
			return nil, err
		}
	}
	watched.Folders = r.folders
	var err error
	r.watcher, err = watch.New(watched, watch.Deps{Devices: r.devices, Publish: r.publish,
		StatePath: filepath.Join(cfg.DataDir, "collectives.json"), Log: deps.Log, Registerer: deps.Registerer, Now: time.Now})
	return r, err
}

// uses reports whether hosts are resolved in a fabric.
func (r *recordFolders) uses(fabric string) bool {
	if r != nil {
		for _, f := range r.folders {
			if f.Fabric == fabric {
				return true
			}
		}
	}
	return false
}

// setGraph sets a new topology version of a fabric for resolving hosts.
func (r *recordFolders) setGraph(g *topology.Graph) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.graphs[g.Fabric()] = g
}

// devices resolves hosts: by the job's own map, then by the folder's, then by name.
func (r *recordFolders) devices(folder *watch.Folder, own nodes.Map, hosts []string) [][]string {
	r.mu.Lock()
	graph := r.graphs[folder.Fabric]
	r.mu.Unlock()
	if graph == nil {
		return make([][]string, len(hosts))
	}
	names := nodes.Map{}
	for _, m := range []nodes.Map{r.maps[folder.Dir], own} {
		maps.Copy(names, m)
	}
	return DevicesOf(graph, names, hosts)
}

func (r *recordFolders) publish(ctx context.Context, fabric string, made *report.Report) (id string, err error) {
	if _, err := command.Output(made); err != nil {
		return "", &watch.FinalError{Err: err}
	}
	id, err = PublishCollective(ctx, r.out, fabric, r.parts[fabric], r.agent, made, time.Now)
	if final, ok := errors.AsType[*feeds.FinalError](marked(err)); ok {
		err = &watch.FinalError{Err: final.Err}
	}
	return id, err
}
