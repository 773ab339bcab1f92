package agent

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/giverny/giverny/schema"
)

func TestReadMachine(t *testing.T) {
	root := t.TempDir()
	for path, text := range map[string]string{
		"proc/cpuinfo":                           "processor\t: 0\nmodel name\t: AMD EPYC 7742 64-Core Processor\nphysical id\t: 0\n\nprocessor\t: 1\nmodel name\t: AMD EPYC 7742 64-Core Processor\nphysical id\t: 1\n",
		"proc/sys/kernel/osrelease":              "6.1.0-18-amd64\n",
		"sys/devices/system/node/node0/cpulist":  "0-15\n",
		"sys/devices/system/node/node1/cpulist":  "16-31\n",
		"sys/devices/system/node/node2/cpulist":  "32-47\n",
		"sys/devices/system/node/node3/cpulist":  "48-63\n",
		"sys/devices/system/node/node4/cpulist":  "\n", // memory only
		"sys/devices/system/node/has_cpu":        "0-3\n",
		"sys/devices/system/node/node12/meminfo": "",
	} {
		file := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := schema.HostHardware{CPU: "AMD EPYC 7742 64-Core Processor", NPS: 2, Kernel: "6.1.0-18-amd64"}
	if got := readMachine(root); got.CPU != want.CPU || got.NPS != want.NPS || got.Kernel != want.Kernel {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := readMachine(t.TempDir()); got.CPU != "" || got.NPS != 0 || got.Kernel != "" {
		t.Errorf("an empty folder gives %+v", got)
	}
}
