// Package hardware reads what a host is made of: the model of its CPUs, NUMA nodes
// per socket and the kernel's release, from the files of a root folder. What cannot
// be read is left empty. It reads no adapters: collectors/ibsysfs does.
package hardware

import (
	"bufio"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/giverny/giverny/schema"
)

// Read looks below root, "/" but in tests.
func Read(root string) schema.HostHardware {
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

// processors are the model of the first and the number of sockets.
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

// numaNodes counts those that have CPUs: memory alone (CXL, HBM) is no part of a socket's NPS.
func numaNodes(dir string) (n int) {
	lists, _ := fs.Glob(os.DirFS(dir), "node[0-9]*/cpulist") // a constant pattern; a folder that cannot be read has none
	for _, path := range lists {
		if text, err := os.ReadFile(filepath.Join(dir, path)); err == nil && strings.TrimSpace(string(text)) != "" {
			n++
		}
	}
	return n
}
