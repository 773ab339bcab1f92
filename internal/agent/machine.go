package agent

import (
	"bufio"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/giverny/giverny/schema"
)

// readMachine reads a host's CPU model, NUMA nodes per socket and kernel release below root, which is "/" except in
// tests. What cannot be read is empty.
func readMachine(root string) schema.HostHardware {
	model, sockets := processors(filepath.Join(root, "proc/cpuinfo"))
	h := schema.HostHardware{CPU: model}
	if nodes := numaNodes(filepath.Join(root, "sys/devices/system/node")); sockets > 0 {
		h.NPS = nodes / sockets
	}
	if text, err := os.ReadFile(filepath.Join(root, "proc/sys/kernel/osrelease")); err == nil {
		h.Kernel = strings.TrimSpace(string(text))
	}
	return h
}

// processors returns the model of the first CPU and the number of sockets.
func processors(path string) (model string, sockets int) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0
	}
	defer f.Close()
	physical := map[string]bool{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), ":")
		switch strings.TrimSpace(key) {
		case "model name":
			if model == "" {
				model = strings.TrimSpace(value)
			}
		case "physical id":
			physical[strings.TrimSpace(value)] = true
		}
	}
	return model, len(physical)
}

// numaNodes counts nodes with CPUs: memory-only nodes (CXL, HBM) do not count towards a socket's NPS.
func numaNodes(dir string) (n int) {
	lists, _ := fs.Glob(os.DirFS(dir), "node[0-9]*/cpulist") // the pattern is valid; an unreadable folder has none
	for _, path := range lists {
		if text, err := os.ReadFile(filepath.Join(dir, path)); err == nil && strings.TrimSpace(string(text)) != "" {
			n++
		}
	}
	return n
}
