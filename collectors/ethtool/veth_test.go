//go:build integration

package ethtool_test

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/giverny/giverny/collectors/collectortest"
	"github.com/giverny/giverny/collectors/ethtool"
	"github.com/giverny/giverny/schema"
)

const inNamespace = "GIVERNY_TEST_IN_NAMESPACE"

// A veth pair in its own network namespace, read through the running kernel, next to a
// loopback without statistics.
func TestReadsVethPair(t *testing.T) {
	if os.Getenv(inNamespace) == "" {
		runInNamespace(t)
		return
	}
	for _, command := range []string{"ip link add giva type veth peer name givb", "ip link set giva up", "ip link set givb up", "ip link set lo up"} {
		args := strings.Fields(command)
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s; install iproute2", command, err, out)
		}
	}
	k, err := ethtool.OpenLinux()
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	c := newCollector(t, k, func(c *ethtool.Config) { c.Extra, c.Exclude = []string{"veth.*"}, nil })
	readings := collectortest.Readings(collectortest.Poll(t, c, 2))
	if len(readings) != 2 {
		t.Errorf("ports %v, want the two ends", readings)
	}
	for _, end := range []string{"giva", "givb"} {
		if readings[schema.PortName{Device: "node7", Port: end}]["veth.peer_ifindex"] == 0 {
			t.Errorf("%s does not name its peer: %v", end, readings)
		}
	}
}

// runInNamespace runs this test again as another process in its own namespaces; a user
// namespace makes privileges unnecessary.
func runInNamespace(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestReadsVethPair$", "-test.v")
	cmd.Env = append(os.Environ(), inNamespace+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v (the kernel must allow user and network namespaces)\n%s", err, out)
	}
}
