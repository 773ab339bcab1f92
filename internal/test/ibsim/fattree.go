package ibsim

import (
	"fmt"
	"strings"
)

// FatTree is a two-level fat tree of 4xHDR links; every host has one adapter with one port. Ports count
// from 1: on a leaf the hosts come first, then the uplinks, spine by spine.
type FatTree struct {
	Leaves, Spines, HostsPerLeaf int
	LinksPerPair                 int // parallel links between a leaf and a spine; 0 means 1
}

// Leaf is the identifier of leaf i in the netlist and for the console.
func (f FatTree) Leaf(i int) string { return switchID(leafGUID(i)) }

// Spine is the identifier of spine i.
func (f FatTree) Spine(i int) string { return switchID(spineGUID(i)) }

// Host is the identifier of the adapter of host i; leaf i/HostsPerLeaf carries it.
func (f FatTree) Host(i int) string { return hostID(hostGUID(i)) }

// Uplink is the leaf's port with the k-th link to a spine.
func (f FatTree) Uplink(spine, k int) int { return f.HostsPerLeaf + spine*f.links() + k + 1 }

// Downlink is the spine's port with the k-th link to a leaf.
func (f FatTree) Downlink(leaf, k int) int { return leaf*f.links() + k + 1 }

// Netlist is the tree in ibnetdiscover's form.
func (f FatTree) Netlist() string {
	var text strings.Builder
	text.WriteString("vendid=0x2c9\ndevid=0xd2f0\n")
	for spine := range f.Spines {
		writeSwitch(&text, spineGUID(spine), fmt.Sprintf("spine%d", spine), max(2, f.Leaves*f.links()))
		for leaf := range f.Leaves {
			for k := range f.links() {
				fmt.Fprintf(&text, "[%d]\t%q[%d]\t\t# \"leaf%d\" lid 0 4xHDR\n",
					f.Downlink(leaf, k), f.Leaf(leaf), f.Uplink(spine, k), leaf)
			}
		}
	}
	for leaf := range f.Leaves {
		f.writeLeaf(&text, leaf)
	}
	for host := range f.Leaves * f.HostsPerLeaf {
		f.writeHost(&text, host)
	}
	return text.String()
}

func (f FatTree) writeLeaf(text *strings.Builder, leaf int) {
	writeSwitch(text, leafGUID(leaf), fmt.Sprintf("leaf%d", leaf), f.HostsPerLeaf+f.Spines*f.links())
	for i := range f.HostsPerLeaf {
		host := leaf*f.HostsPerLeaf + i
		fmt.Fprintf(text, "[%d]\t%q[1](%016x)\t\t# \"node%d mlx5_0\" lid 0 4xHDR\n",
			i+1, f.Host(host), hostGUID(host)+1, host)
	}
	for spine := range f.Spines {
		for k := range f.links() {
			fmt.Fprintf(text, "[%d]\t%q[%d]\t\t# \"spine%d\" lid 0 4xHDR\n",
				f.Uplink(spine, k), f.Spine(spine), f.Downlink(leaf, k), spine)
		}
	}
}

func (f FatTree) writeHost(text *strings.Builder, host int) {
	guid, leaf := hostGUID(host), host/f.HostsPerLeaf
	fmt.Fprintf(text, "\nvendid=0x2c9\ndevid=0x101b\nsysimgguid=0x%016x\ncaguid=0x%016x\n", guid, guid)
	fmt.Fprintf(text, "Ca\t1 %q\t\t# \"node%d mlx5_0\"\n", f.Host(host), host)
	fmt.Fprintf(text, "[1](%016x)\t%q[%d]\t\t# lid 0 lmc 0 \"leaf%d\" lid 0 4xHDR\n",
		guid+1, f.Leaf(leaf), host%f.HostsPerLeaf+1, leaf)
}

func (f FatTree) links() int { return max(1, f.LinksPerPair) }

func writeSwitch(text *strings.Builder, guid uint64, name string, ports int) {
	fmt.Fprintf(text, "\nsysimgguid=0x%016x\nswitchguid=0x%016x(%016x)\n", guid, guid, guid)
	fmt.Fprintf(text, "Switch\t%d %q\t\t# %q base port 0 lid 0 lmc 0\n", ports, switchID(guid), name)
}

// The identifiers are in a vendor's range, apart by kind; a host leaves room for its ports' own.
func leafGUID(i int) uint64  { return 0x0c42a10300100000 + uint64(i) }
func spineGUID(i int) uint64 { return 0x0c42a10300200000 + uint64(i) }
func hostGUID(i int) uint64  { return 0x0c42a10300300000 + uint64(i)*16 }

func switchID(guid uint64) string { return fmt.Sprintf("S-%016x", guid) }
func hostID(guid uint64) string   { return fmt.Sprintf("H-%016x", guid) }
