package engine_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/giverny/giverny/search/engine"
)

// fakeSSH makes the test binary a fake ssh: it passes the command to a shell, as sshd
// does, in which the tools of an RDMA host are the test binary again. Files in the
// host's folder control the tools, so a test can change their behaviour while it runs.
const fakeSSH = "fake-ssh"

// fakeTools are faked; everything else on the fake host is real.
var fakeTools = []string{"ib_write_bw", "ib_read_bw", "ib_send_bw", "collie_engine", "grep", "cat", "ethtool", "numactl"}

// fakeRig is a rig of two fake hosts.
func fakeRig(t *testing.T) (rig engine.Rig, folder string) {
	t.Helper()
	folder = t.TempDir()
	for _, tool := range fakeTools {
		if err := os.Symlink(executable(t), filepath.Join(folder, tool)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, began), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	rig = engine.DefaultRig()
	rig.SSH = []string{executable(t), fakeSSH, folder}
	rig.SampleSeconds, rig.Samples, rig.Port = 1, 1, freePorts(t)
	rig.Timeout = 20 * time.Second
	host := engine.RigHost{Device: "mlx5_0", DevicePort: 1}
	a, b := host, host
	a.SSH, a.Address, b.SSH, b.Address = "root@left", "10.0.0.1", "root@right", "10.0.0.2"
	rig.Pairs = []engine.RigPair{{A: a, B: b}}
	return rig, folder
}

// freePorts returns the first of two ports reserved by the test until its end, since everything on a rig's ports is killed.
func freePorts(t *testing.T) (first int) {
	t.Helper()
	for first%2 == 0 { // so that the pairs of two tests do not overlap
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		first = l.Addr().(*net.TCPAddr).Port
	}
	return min(first, 65533)
}

func executable(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// behave sets the behaviour of the fake tools; "" is normal.
func behave(t *testing.T, folder, what string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, "behave"), []byte(what), 0o644); err != nil {
		t.Fatal(err)
	}
}

// runFake runs the test binary as ssh, or as a tool on a fake host.
func runFake() (done bool) {
	if len(os.Args) > 5 && os.Args[1] == fakeSSH && os.Args[3] == "--" {
		folder, host := os.Args[2], os.Args[4]
		what, _ := os.ReadFile(filepath.Join(folder, "behave"))
		if string(what) == "unreachable" {
			fmt.Fprintln(os.Stderr, "ssh: connect to host right port 22: No route to host")
			os.Exit(255)
		}
		remote := exec.Command("/bin/sh", "-c", os.Args[5])
		remote.Env = append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"), "FAKE_HOST="+host, "FAKE_FOLDER="+folder)
		// With its own pipes: when ssh is killed, its output ends, but its command keeps running on the host.
		remote.Stdout, remote.Stderr = struct{ io.Writer }{os.Stdout}, struct{ io.Writer }{os.Stderr}
		_ = remote.Run()
		if code := remote.ProcessState.ExitCode(); code >= 0 {
			os.Exit(code)
		}
		os.Exit(255)
	}
	folder := os.Getenv("FAKE_FOLDER")
	if folder == "" {
		return false
	}
	what, _ := os.ReadFile(filepath.Join(folder, "behave"))
	h := fakeHost{folder: folder, host: os.Getenv("FAKE_HOST"), does: string(what), args: os.Args[1:]}
	switch tool := filepath.Base(os.Args[0]); tool {
	case "grep":
		h.counters()
	case "cat":
		h.files()
	case "ethtool":
		h.statistics()
	case "numactl":
		path, _ := exec.LookPath(h.args[4])
		_ = syscall.Exec(path, h.args[4:], os.Environ())
	case "collie_engine":
		h.collie()
	default:
		if !strings.HasPrefix(tool, "ib_") {
			return false
		}
		h.perftest()
	}
	return true
}

type fakeHost struct {
	folder, host, does string
	args               []string
}

// option is the value of "-s 64" or "--port=7".
func (h *fakeHost) option(name string) string {
	for i, a := range h.args {
		if v, ok := strings.CutPrefix(a, name+"="); ok {
			return v
		}
		if a == name && i+1 < len(h.args) {
			return h.args[i+1]
		}
	}
	return ""
}

func (h *fakeHost) has(flag string) bool {
	return slices.Contains(h.args, flag)
}

// tick counts the transfers so far, each of which increases the counters.
func (h *fakeHost) tick() int {
	text, _ := os.ReadFile(filepath.Join(h.folder, "transfers"))
	return len(text)
}

func (h *fakeHost) counters() {
	root := h.args[len(h.args)-1]
	n := h.tick()
	h.ports(strings.TrimSuffix(root, "/hw_counters"))
	fmt.Printf("%s/out_of_buffer:%d\n%s/np_cnp_sent:%d\n", root, 1000+50*n, root, map[bool]int{true: n}[h.does == "congested"])
}

// collie fakes the traffic engine: while its client runs, the hosts' ports count.
func (h *fakeHost) collie() {
	if h.does == "refuse" {
		os.Exit(1)
	}
	if h.has("--server") {
		time.Sleep(time.Hour)
	}
	if err := os.WriteFile(filepath.Join(h.folder, "traffic"), []byte(strings.Join(h.args, " ")), 0o644); err != nil {
		panic(err)
	}
	time.Sleep(time.Hour)
}

// began is a file created with the fake rig.
const began = "began"

// ports counts 50 Gb/s and 6 million packets per second since the test began, however late a loaded machine starts the traffic.
func (h *fakeHost) ports(root string) {
	info, err := os.Stat(filepath.Join(h.folder, began))
	if err != nil {
		panic(err)
	}
	seconds := time.Since(info.ModTime()).Seconds()
	fmt.Printf("%s/counters/port_rcv_data:%d\n%s/counters/port_rcv_packets:%d\n", root, int(seconds*50e9/8/4), root, int(seconds*6e6))
}

func (h *fakeHost) files() {
	switch path := h.args[0]; {
	case strings.HasSuffix(path, "/rate"):
		fmt.Println("100 Gb/sec (4X EDR)")
	case strings.HasSuffix(path, "/ndevs/0"):
		fmt.Println("ens1f0")
	case strings.HasSuffix(path, "/mtu"):
		fmt.Println("1500")
	}
}

// statistics: with "pause" the right host sends 120 ms of pause per transfer.
func (h *fakeHost) statistics() {
	pause := 0
	if h.does == "pause" && strings.HasSuffix(h.host, "right") {
		pause = 120000 * h.tick()
	}
	fmt.Printf("NIC statistics:\n     rx_discards_phy: %d\n     tx_prio3_pause_duration: %d\n     tx_prio3_pause: %d\n", 7*h.tick(), pause, pause/100)
}

// perftest fakes a bandwidth test whose server and client meet at a socket.
func (h *fakeHost) perftest() {
	socket := filepath.Join(h.folder, "s"+h.option("--port"))
	last := h.args[len(h.args)-1]
	client := strings.HasPrefix(last, "10.")
	if h.does == "hang" {
		time.Sleep(time.Hour)
	}
	if h.does == "refuse" {
		fmt.Fprintln(os.Stderr, " Unable to create QP.\n Couldn't create IB resources")
		os.Exit(1)
	}
	if !client {
		time.Sleep(30 * time.Millisecond) // a client that comes too early must retry
		_ = os.Remove(socket)
		l, err := net.Listen("unix", socket)
		if err != nil {
			panic(err)
		}
		c, err := l.Accept()
		if err != nil {
			panic(err)
		}
		if h.does == "halfdead" {
			time.Sleep(time.Hour)
		}
		_, _ = io.Copy(io.Discard, c)
		h.table()
		return
	}
	c, err := net.Dial("unix", socket)
	if err != nil {
		fmt.Fprintf(os.Stderr, "Couldn't connect to %s:%s\nUnable to open file descriptor for socket connection", last, h.option("--port"))
		os.Exit(1)
	}
	if h.does == "halfdead" {
		fmt.Fprintln(os.Stderr, " Completion with error at client")
		os.Exit(1)
	}
	f, err := os.OpenFile(filepath.Join(h.folder, "transfers"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		panic(err)
	}
	fmt.Fprint(f, "x")
	_ = f.Close()
	_ = c.Close()
	h.table()
}

// table prints perftest's output: 11 million messages per second in each direction, or
// as many as 92 Gb/s carry; with "lopsided", half of that from right to left.
func (h *fakeHost) table() {
	bytes, _ := strconv.ParseFloat(h.option("-s"), 64)
	rate := min(11, 92e3/8/bytes)
	if h.does == "clockless" && h.tick()%3 > 0 { // only every third time it has a clock
		rate = 0
	}
	row := func(mpps float64) {
		fmt.Printf(" #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n %-10g 12345            0.00               %.2f   		   %f\n", bytes, mpps*bytes*8/1e3, mpps)
	}
	fmt.Println("---------------------------------------------------------------------------------------\n                    RDMA_Write BW Test\n Dual-port       : OFF		Device         : mlx5_0\n local address: LID 0000 QPN 0x0012 PSN 0xd2f2a2\n---")
	if !h.has("-b") {
		row(rate)
		return
	}
	if h.does == "lopsided" && strings.HasSuffix(h.host, "right") {
		rate /= 2
	}
	row(rate)
	fmt.Println("---\n\n Local results: \n---")
	row(rate)
	fmt.Println("---\n\n Remote results: \n---")
	fmt.Println(" #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n 140302673668272    2183040525           0.000000            0.000000            0.000000")
}
