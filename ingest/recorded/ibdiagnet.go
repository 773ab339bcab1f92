package recorded

import (
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/giverny/giverny/internal/dbcsv"
)

// sectionCounters is the section of ibdiagnet2.db_csv with a row of counters for each port.
const sectionCounters = "PM_INFO"

// ibdiagnetCounters are the columns of PM_INFO that become metrics. Of two widths of one counter the 64-bit one counts
// if the device has it.
var ibdiagnetCounters = []struct{ wide, name, narrow, narrowName string }{
	{"PortXmitWaitExt", "ib.port_xmit_wait", "PortXmitWait", "ib.port_xmit_wait_32"},
	{"PortXmitDataExtended", "ib.port_xmit_data", "PortXmitData", "ib.port_xmit_data_32"},
	{"PortRcvDataExtended", "ib.port_rcv_data", "PortRcvData", "ib.port_rcv_data_32"},
	{"PortXmitPktsExtended", "ib.port_xmit_packets", "PortXmitPkts", "ib.port_xmit_packets_32"},
	{"PortRcvPktsExtended", "ib.port_rcv_packets", "PortRcvPkts", "ib.port_rcv_packets_32"},
	{"", "", "PortXmitDiscards", "ib.port_xmit_discards"},
}

// AddIBDiagnet adds the section PM_INFO of ibdiagnet's file ibdiagnet2.db_csv: the counters of all ports, read at one
// time. Ports are named by the GUID of their device. A file without the section, or that is cut off in it, is an error.
func (r *Reader) AddIBDiagnet(name string, text io.Reader, at time.Time) error {
	f := &file{name: name, table: dbcsv.NewReader(text, sectionCounters), at: at}
	if err := f.advance(); err != nil {
		return err
	}
	heap.Push(&r.files, f)
	return nil
}

// advanceTable reads the next row of PM_INFO into head.
func (f *file) advanceTable() error {
	row, err := f.table.Next()
	if errors.Is(err, io.EOF) {
		return cmp.Or(f.checkTable(), io.EOF)
	}
	if err != nil {
		return fmt.Errorf("%s:%w", f.name, err)
	}
	guid, ok := row.GUID("NodeGUID")
	port, numbered := row.Number("PortNumber")
	if !ok || !numbered {
		return fmt.Errorf("%s:%d: section %s: want a row with NodeGUID and PortNumber", f.name, row.Line, row.Section)
	}
	f.head = Row{Source: "ibdiagnet", Time: f.at, Device: guid, Port: strconv.FormatUint(port, 10), Counters: map[string]uint64{}}
	for _, c := range ibdiagnetCounters {
		if value, ok := row.Number(c.wide); ok {
			f.head.Counters[c.name] = value
		} else if value, ok := row.Number(c.narrow); ok {
			f.head.Counters[c.narrowName] = value
		}
	}
	return nil
}

// checkTable reports, at the end of the file, a section that is missing or damaged.
func (f *file) checkTable() error {
	var names []string
	for _, s := range f.table.Sections() {
		names = append(names, s.Name)
		switch {
		case s.Name != sectionCounters:
		case s.Skipped > 0:
			return fmt.Errorf("%s:%d: section %s: another number of fields than its header (%d such rows); the file is damaged", f.name, s.FirstSkipped, s.Name, s.Skipped)
		case !s.Closed:
			return fmt.Errorf("%s: section %s of line %d has no END_%[2]s; the file is truncated", f.name, s.Name, s.Line)
		case s.Rows == 0:
			return fmt.Errorf("%s:%d: section %s has no rows", f.name, s.Line, s.Name)
		default:
			return nil
		}
	}
	return fmt.Errorf("%s: no section %s, in which ibdiagnet writes counters; it has %s", f.name, sectionCounters, strings.Join(names, ", "))
}
