package hostping_test

import (
	"strings"
	"testing"

	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/hostping/simulated"
)

// Damaged or hostile descriptions are refused with the file, the line and the remedy.
func TestHostileDescriptions(t *testing.T) {
	whole := simulated.Machines()[0].XML()
	deep := strings.Repeat("<a>", 200) + strings.Repeat("</a>", 200)
	for _, c := range []struct{ name, text, want string }{
		{"empty", " \n", "host.xml: empty; want the output of"},
		{"cut off", whole[:len(whole)/2], "the file is truncated inside <object>"},
		{"entity", "<!DOCTYPE topology [\n<!ENTITY a \"aaaa\">]>\n<topology>&a;</topology>", "host.xml:2: the document declares entities"},
		{"external entity", "<!DOCTYPE topology SYSTEM \"x\" [<!ENTITY a SYSTEM \"file:///etc/passwd\">]>\n<topology>&a;</topology>", "declares entities"},
		{"undeclared entity", "<topology>\n&lol;</topology>", "host.xml:2: invalid character entity &lol;"},
		{"deep", "<topology>\n" + deep + "</topology>", "deeper than 100"},
		{"many", "<topology>" + strings.Repeat("<a/>", 300_000) + "</topology>", "more than 200000 elements"},
		{"large", "<topology>" + strings.Repeat(" ", 17<<20) + "</topology>", "description can have"},
		{"another document", "<html></html>", "host.xml:1: root element <html>: want <topology> of hwloc or <system> of NCCL"},
		{"two roots", "<system></system><system></system>", "a second root <system>"},
		{"mismatched", "<topology>\n<object></topology>", "host.xml:2: element <object> closed by </topology>"},
		{"no cpu", "<system version=\"1\"></system>", "<system> without <cpu>"},
		{"no packages", "<topology version=\"2.0\"></topology>", "no Package and no NUMANode"},
		{"a GPU twice", `<system><cpu numaid="0"><pci class="0x030200"><gpu dev="0"/></pci><pci class="0x030200"><gpu dev="0"/></pci></cpu></system>`, "gpu0 is duplicated"},
		{"other encoding", "<?xml version=\"1.0\" encoding=\"utf-16\"?><topology/>", "want UTF-8"},
		{"no table", "hello\nworld\n", "host.xml:1: no table: want the output of nvidia-smi topo -m"},
		{"short row", "\tGPU0\tNIC0\nGPU0\t X \n", "host.xml:2: GPU0 has 1 cells, want 2"},
		{"missing row", "\tGPU0\tNIC0\nGPU0\t X \tPIX\n", "the row of NIC0 is missing: the file is truncated"},
		{"strange cell", "\tGPU0\tNIC0\nGPU0\t X \tFOO\n", `host.xml:2: cell "FOO" of GPU0`},
	} {
		_, err := hostping.ReadGraph("host.xml", []byte(c.text), hostping.Auto)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "host.xml:") {
			t.Errorf("%s: the error does not begin with the file: %v", c.name, err)
		}
	}
}

func TestFormatsAreNotMixedUp(t *testing.T) {
	for _, c := range []struct {
		format     hostping.Format
		text, want string
	}{
		{hostping.NvidiaSMI, "<topology/>", "an XML document"},
		{hostping.NCCL, "<topology/>", "root element <topology>"},
		{hostping.Hwloc, "<system/>", "root element <system>"},
		{"yaml", "<system/>", `format "yaml"`},
	} {
		if _, err := hostping.ReadGraph("f", []byte(c.text), c.format); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.format, err, c.want)
		}
	}
}

// FuzzReadGraph: no description makes a reader panic, and each graph is valid.
func FuzzReadGraph(f *testing.F) {
	for _, m := range simulated.Machines() {
		f.Add([]byte(m.XML()))
	}
	f.Add([]byte(`<system><cpu numaid="-1"><pci busid="0" class="0x060400"><pci class="0x0302"/><pci class="0x0207"/></pci></cpu></system>`))
	f.Add([]byte("\tGPU0\tNIC0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tPIX\t0-3\t0\nNIC0\tPIX\t X \n\n  NIC0: mlx5_0\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		g, err := hostping.ReadGraph("f", text, hostping.Auto)
		if err == nil {
			check(t, &g)
		}
	})
}
