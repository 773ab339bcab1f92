package utilisation

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/giverny/giverny/hostping"
)

// gpuColumns are the columns queried from nvidia-smi.
const gpuColumns = "index,utilization.gpu,pcie.link.gen.current,pcie.link.width.current"

// gpu is a GPU as reported by nvidia-smi.
type gpu struct {
	used     float64 // share of time in which kernels ran, 0 to 1
	pcieGBps float64 // of its link as trained, one direction; 0: unknown
}

// pcieLaneGBps is one direction of a lane, by generation: 2.5, 5 GT/s with 8b/10b
// encoding; from the third on 8, 16, 32, 64 GT/s with 128b/130b.
var pcieLaneGBps = []float64{0, 0.25, 0.5, 0.985, 1.969, 3.938, 7.877}

// readGPUs reads `nvidia-smi --query-gpu=... --format=csv,noheader,nounits`. Values
// that a GPU does not report are "[N/A]" or "[Not Supported]".
func readGPUs(text string) (map[int]gpu, error) {
	gpus := map[int]gpu{}
	for line := range strings.Lines(text) {
		cells := cellsOf(line)
		if len(cells) == 1 && cells[0] == "" {
			continue
		}
		if len(cells) != len(strings.Split(gpuColumns, ",")) {
			return nil, fmt.Errorf("nvidia-smi: line %.80q: want %s", line, gpuColumns)
		}
		index, err := strconv.Atoi(cells[0])
		if err != nil || index < 0 {
			return nil, fmt.Errorf("nvidia-smi: line %.80q: want an index", line)
		}
		g := gpu{used: -1}
		if percent, err := strconv.ParseFloat(cells[1], 64); err == nil && percent >= 0 && percent <= 100 {
			g.used = percent / 100
		}
		gen, err1 := strconv.Atoi(cells[2])
		width, err2 := strconv.Atoi(cells[3])
		if err1 == nil && err2 == nil && gen > 0 && gen < len(pcieLaneGBps) && width > 0 && width <= 32 {
			g.pcieGBps = pcieLaneGBps[gen] * float64(width)
		}
		gpus[index] = g
	}
	if len(gpus) == 0 {
		return nil, fmt.Errorf("nvidia-smi: no GPU in %.80q", text)
	}
	return gpus, nil
}

// readGPUTraffic reads `nvidia-smi dmon -s t -c 1`: lines with a GPU's index, and its
// received and sent MB/s over PCIe. A header names the columns.
func readGPUTraffic(text string) map[int]float64 {
	gbps := map[int]float64{}
	rx, tx := -1, -1
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) > 1 && fields[0] == "#" {
			for i, name := range fields[1:] {
				switch name {
				case "rxpci":
					rx = i
				case "txpci":
					tx = i
				}
			}
			continue
		}
		if rx < 0 || tx < 0 || len(fields) <= max(rx, tx) {
			continue
		}
		index, err := strconv.Atoi(fields[0])
		in, err1 := strconv.ParseFloat(fields[rx], 64)
		out, err2 := strconv.ParseFloat(fields[tx], 64)
		if err == nil && err1 == nil && err2 == nil && in >= 0 && out >= 0 {
			gbps[index] = max(in, out) / 1000
		}
	}
	return gbps
}

// noteGPUs adds the use of each GPU and of its own link to u.
func noteGPUs(u *hostping.Utilisation, g *hostping.Graph, gpus map[int]gpu, moved map[int]float64) {
	for index, one := range gpus {
		id := "gpu" + strconv.Itoa(index)
		if one.used >= 0 {
			u.GPUs[id] = one.used
		}
		gbps, measured := moved[index]
		if !measured || one.pcieGBps == 0 {
			continue
		}
		for _, l := range g.Links {
			if l.B == id {
				u.Links[l.ID] = min(1, gbps/one.pcieGBps)
			}
		}
	}
}
