// Package sdnotify tells the service manager that started this process when it has started and when it begins to stop
// (sd_notify(3), Type=notify). Without such a manager it does nothing.
package sdnotify

import (
	"fmt"
	"net"
	"os"
	"strings"
)

// Messages of the protocol.
const (
	Ready    = "READY=1"
	Stopping = "STOPPING=1"
)

// SocketVariable names the manager's socket in the environment; @ begins the name of an abstract one.
const SocketVariable = "NOTIFY_SOCKET"

// Send sends a message. It returns nil if there is no manager.
func Send(message string) error {
	path := os.Getenv(SocketVariable)
	if path == "" {
		return nil
	}
	if !strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "@") {
		return fmt.Errorf("notify the service manager: %s=%s is not a UNIX socket", SocketVariable, path)
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("notify the service manager: %w", err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(message)); err != nil {
		return fmt.Errorf("notify the service manager: %w", err)
	}
	return nil
}
