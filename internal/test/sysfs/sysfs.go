// Package sysfs makes files like those of RDMA adapters for tests, also of one whose driver hangs.
package sysfs

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Adapter writes the files of an InfiniBand adapter of a host, which has sent 100 bytes.
func Adapter(t *testing.T, root, host, name string) {
	t.Helper()
	for file, text := range map[string]string{"node_desc": host + " " + name, "node_guid": "0011:2233:4455:6677", "hca_type": "MT4129", "fw_ver": "28.39.1002",
		"ports/1/link_layer": "InfiniBand", "ports/1/state": "4: ACTIVE", "ports/1/counters/port_xmit_data": "25", "ports/1/counters/port_rcv_data": "0"} {
		path := filepath.Join(root, name, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text+"\n"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// Hang replaces a file by one whose reader blocks, like a register of a hung adapter.
// release unblocks its readers.
func Hang(t *testing.T, path string) (release func()) {
	t.Helper()
	_ = os.Remove(path)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return func() {
		w, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		w.Close()
	}
}
