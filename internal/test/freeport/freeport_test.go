package freeport

import (
	"fmt"
	"net"
	"testing"
)

func TestAReservedPortIsFreeAndGivenOnce(t *testing.T) {
	given := map[int]bool{}
	for range 500 {
		port := Port(t)
		if given[port] || port < lowest || port > highest {
			t.Fatalf("port %d: given twice, or outside %d to %d", port, lowest, highest)
		}
		given[port] = true
	}
	for port := range given {
		service, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			t.Fatal(err)
		}
		service.Close()
	}
}

func TestAPortIsGivenAgainAfterItsRelease(t *testing.T) {
	port, release, err := Reserve()
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("@giverny-test-port-%d", port)
	if lock, err := net.Listen("unix", name); err == nil {
		lock.Close()
		t.Errorf("port %d is not reserved", port)
	}
	release()
	lock, err := net.Listen("unix", name)
	if err != nil {
		t.Fatalf("port %d after its release: %v", port, err)
	}
	lock.Close()
}

func TestNoConnectionIsGivenAReservablePort(t *testing.T) {
	service, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer service.Close()
	client, err := net.Dial("tcp", service.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if port := client.LocalAddr().(*net.TCPAddr).Port; port <= highest {
		t.Errorf("an outgoing connection has port %d, want more than %d: see net.ipv4.ip_local_port_range", port, highest)
	}
}
