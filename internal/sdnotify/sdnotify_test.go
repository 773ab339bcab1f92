package sdnotify_test

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/internal/sdnotify"
)

// A message arrives as one datagram, by a path as well as by an abstract name.
func TestMessagesArrive(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{filepath.Join(dir, "notify"), "@" + filepath.Join(dir, "abstract")} {
		manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv(sdnotify.SocketVariable, name)
		for _, want := range []string{sdnotify.Ready, sdnotify.Stopping} {
			if err := sdnotify.Send(want); err != nil {
				t.Fatal(err)
			}
			manager.SetReadDeadline(time.Now().Add(10 * time.Second))
			got := make([]byte, 64)
			n, err := manager.Read(got)
			if err != nil || string(got[:n]) != want {
				t.Errorf("%s: got %q, %v, want %q", name, got[:n], err, want)
			}
		}
		manager.Close()
	}
}

func TestWithoutAManager(t *testing.T) {
	t.Setenv(sdnotify.SocketVariable, "")
	if err := sdnotify.Send(sdnotify.Ready); err != nil {
		t.Errorf("without a manager: %v", err)
	}
	for _, socket := range []string{"vsock:2:1234", filepath.Join(t.TempDir(), "absent")} {
		t.Setenv(sdnotify.SocketVariable, socket)
		if err := sdnotify.Send(sdnotify.Ready); err == nil || !strings.HasPrefix(err.Error(), "notify the service manager: ") {
			t.Errorf("%s: %v, want an error", socket, err)
		}
	}
}
