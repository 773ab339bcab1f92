package hostping

import (
	"bytes"
	"errors"
	"fmt"
)

// Format is the format of a host's description.
type Format string

// Formats. Auto detects it.
const (
	Auto      Format = ""
	Hwloc     Format = "hwloc"      // lstopo --of xml
	NCCL      Format = "nccl"       // NCCL_TOPO_DUMP_FILE
	NvidiaSMI Format = "nvidia-smi" // nvidia-smi topo -m
)

// ReadGraph builds the graph of a host from its description. Errors begin with name and line. Every device appears
// once, links in series that no probe can separate are merged, and missing information is assumed and listed.
func ReadGraph(name string, text []byte, format Format) (Graph, error) {
	m, err := read(text, format)
	if err != nil {
		var at *fault
		if errors.As(err, &at) {
			return Graph{}, fmt.Errorf("%s:%w", name, err)
		}
		return Graph{}, fmt.Errorf("%s: %w", name, err)
	}
	g, err := m.graph()
	if err != nil {
		return Graph{}, fmt.Errorf("%s: %w; want the output of lstopo --of xml, NCCL_TOPO_DUMP_FILE or nvidia-smi topo -m", name, err)
	}
	return g, nil
}

func read(text []byte, format Format) (*machine, error) {
	if len(text) > maxTextBytes {
		return nil, fmt.Errorf("%d bytes, more than the %d that a host's description can have", len(text), maxTextBytes)
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	isXML := bytes.HasPrefix(bytes.TrimSpace(text), []byte("<"))
	switch {
	case len(bytes.TrimSpace(text)) == 0:
		return nil, errors.New("empty; want the output of lstopo --of xml, NCCL_TOPO_DUMP_FILE or nvidia-smi topo -m")
	case format == NvidiaSMI && isXML:
		return nil, errors.New("an XML document, not the text of nvidia-smi topo -m; omit --format")
	case format == NvidiaSMI || format == Auto && !isXML:
		return parseNvidiaSMI(string(text))
	case format != Auto && format != Hwloc && format != NCCL:
		return nil, fmt.Errorf("format %q: want hwloc, nccl or nvidia-smi", format)
	}
	root, err := parseXML(text)
	if err != nil {
		return nil, err
	}
	switch {
	case root.name == "topology" && format != NCCL:
		return parseHwloc(root)
	case root.name == "system" && format != Hwloc:
		return parseNCCL(root)
	}
	return nil, &fault{root.line, fmt.Errorf("root element <%s>: want <topology> of hwloc or <system> of NCCL; name the format with --format", root.name)}
}
