package ibsysfs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/giverny/giverny/collectors"
	"github.com/giverny/giverny/schema"
)

// adapter is what is kept of an adapter between polls. Only Read uses it, and no two
// Reads of an adapter run concurrently.
type adapter struct {
	dir    string
	name   string            // name of its folder: "mlx5_0"
	names  map[string]string // canonical counter names by family and file
	wide   map[string]bool   // ports whose data counters have exceeded 32 bits
	buffer [64]byte
}

func newAdapter(dir, name string) *adapter {
	return &adapter{dir: dir, name: name, names: map[string]string{}, wide: map[string]bool{}}
}

// visit is the reading of an adapter in one poll.
type visit struct {
	*adapter
	cfg               *Config
	description, guid string
	shared            bool // another adapter of this host has the same description
}

// Name is the name of the adapter's folder.
func (v *visit) Name() string { return v.name }

// Read reads every port. A failing port does not prevent reading the others.
func (v *visit) Read(ctx context.Context, r *collectors.Reading) error {
	ports, err := os.ReadDir(filepath.Join(v.dir, "ports"))
	if err != nil {
		return err
	}
	family := v.family()
	var errs []error
	for _, p := range ports {
		if err := v.readPort(ctx, r, family, p.Name()); err != nil {
			errs = append(errs, fmt.Errorf("port %s: %w", p.Name(), err))
		}
	}
	return errors.Join(errs...)
}

// hardwareFamilies are the drivers whose hw_counters family has another name than the
// driver.
var hardwareFamilies = map[string]string{
	"mlx5_core": "hw", "mlx5_ib": "hw", "mlx4_core": "mlx4", "mlx4_ib": "mlx4",
	"bnxt_en": "bnxt_re", "rdma_rxe": "rxe", "ice": "irdma", "i40e": "irdma",
}

// namedFamilies derive the family from the adapter's name if there is no link to its
// driver, as for software devices.
var namedFamilies = []struct{ prefix, family string }{
	{"mlx5", "hw"}, {"mlx4", "mlx4"}, {"bnxt_re", "bnxt_re"}, {"rxe", "rxe"}, {"irdma", "irdma"}, {"siw", "siw"}, {"hfi1", "hfi1"}, {"efa", "efa"},
}

// unknownFamily is used for hw_counters of an unknown driver. It is not "hw", since the
// counters of that family have known widths.
const unknownFamily = "rdma"

// family is the first part of the adapter's hw_counters names.
func (a *adapter) family() string {
	if link, err := os.Readlink(filepath.Join(a.dir, "device", "driver")); err == nil {
		driver := filepath.Base(link)
		return cmp.Or(hardwareFamilies[driver], driver)
	}
	for _, f := range namedFamilies {
		if strings.HasPrefix(a.name, f.prefix) {
			return f.family
		}
	}
	return unknownFamily
}

// Columns in addition to the counters: the current state of the port.
const (
	stateColumn = "ib.port_state"    // 1 down, 2 initialising, 3 armed, 4 active (IBA vol. 1, PortInfo)
	rateColumn  = "ib.rate_megabits" // Mb/s
)

func (v *visit) readPort(ctx context.Context, r *collectors.Reading, family, port string) error {
	dir := filepath.Join(v.dir, "ports", port)
	layer := text(filepath.Join(dir, "link_layer"))
	r.Row(family+" "+layer, v.portName(port, layer))
	v.readState(r, dir)
	err := errors.Join(
		v.readCounters(ctx, r, filepath.Join(dir, "counters"), "ib", port),
		v.readCounters(ctx, r, filepath.Join(dir, "hw_counters"), family, port))
	return err
}

// portName is the name of the port in the fabric's graph.
func (v *visit) portName(port, layer string) schema.PortName {
	switch {
	case v.cfg.Identify == Hostname:
		netdev := text(filepath.Join(v.dir, "ports", port, "gid_attrs", "ndevs", "0"))
		if layer != "Ethernet" {
			netdev = "" // an IPoIB interface is not the port
		}
		return schema.PortName{Device: v.cfg.Hostname, Port: cmp.Or(netdev, v.name+"/"+port)}
	case v.cfg.Identify == GUID && v.guid != "", v.shared && v.guid != "":
		return schema.PortName{Device: v.guid, Port: port}
	case v.description != "" && !v.shared:
		return schema.PortName{Device: v.description, Port: port}
	}
	return schema.PortName{Device: v.cfg.Hostname + " " + v.name, Port: port}
}

// readState adds the logical state ("4: ACTIVE") and the rate ("400 Gb/sec (4X NDR)")
// to the counters, so that a port that is down can be distinguished from an idle one.
func (v *visit) readState(r *collectors.Reading, dir string) {
	if state, _, ok := strings.Cut(text(filepath.Join(dir, "state")), ":"); ok {
		if n, err := strconv.ParseUint(state, 10, 8); err == nil {
			r.Put(stateColumn, n)
		}
	}
	if rate, _, ok := strings.Cut(text(filepath.Join(dir, "rate")), " Gb/sec"); ok {
		if gigabits, err := strconv.ParseFloat(rate, 64); err == nil && gigabits > 0 && gigabits < 1e6 {
			r.Put(rateColumn, uint64(math.Round(gigabits*1000)))
		}
	}
}

// readCounters reads every file of a folder. A missing folder is no error: soft-RoCE
// has no counters, an adapter in a container no hw_counters.
func (v *visit) readCounters(ctx context.Context, r *collectors.Reading, dir, family, port string) error {
	files, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	narrow := family == "ib" && !v.hasExtended(files)
	for _, f := range files {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		file := f.Name()
		if f.IsDir() || file == settingFile {
			continue
		}
		value, err := v.readCounter(filepath.Join(dir, file))
		if errors.Is(err, errNotOffered) {
			continue
		}
		if err != nil {
			r.Unreadable(err)
			continue
		}
		r.Put(v.canonical(family, file, port, narrow, value), value)
	}
	return nil
}

// settingFile, in hw_counters, is not a counter but the time in milliseconds for which
// the kernel caches their values.
const settingFile = "lifespan"

// hasExtended reports whether the port has the extended, 64-bit counters. The kernel
// picks one of three sets of files (drivers/infiniband/core/sysfs.c,
// get_counter_table), and only the full extended set has this file.
func (v *visit) hasExtended(files []os.DirEntry) bool {
	for _, f := range files {
		if f.Name() == "unicast_rcv_packets" {
			return true
		}
	}
	return false
}

// canonical returns the name of a counter in the schema.
//
// port_xmit_wait is 32 bits wide in all three of the kernel's sets and saturates. Data
// and packet counters are 64 bits wide in two of them. The set without extended
// counters and the one without extended unicast and multicast counters have the same
// files, so there a counter counts as 32-bit until its value exceeds 32 bits.
func (v *visit) canonical(family, file, port string, narrow bool, value uint64) string {
	switch file {
	case "port_xmit_wait":
		narrow = family == "ib"
	case "port_xmit_data", "port_rcv_data", "port_xmit_packets", "port_rcv_packets":
		if value > math.MaxUint32 {
			v.wide[port] = true
		}
		narrow = narrow && !v.wide[port]
	default:
		narrow = false
	}
	suffix := ""
	if narrow {
		suffix = "_32"
	}
	key := family + "." + file + suffix
	if name, ok := v.names[key]; ok {
		return name
	}
	v.names[key] = key
	return key
}

// errNotOffered means that the port does not have the counter, although the file
// exists.
var errNotOffered = errors.New("not offered by the port")

// readCounter reads a number. Some kernels return "N/A (no PMA)" for an adapter without
// performance management.
func (v *visit) readCounter(file string) (uint64, error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	n, err := f.Read(v.buffer[:])
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	content := bytes.TrimSpace(v.buffer[:n])
	if bytes.HasPrefix(content, []byte("N/A")) {
		return 0, errNotOffered
	}
	value, err := strconv.ParseUint(string(content), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s holds %q, not a number: %w", file, content, collectors.ErrMalformed)
	}
	return value, nil
}
