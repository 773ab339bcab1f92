package sitefiles

import (
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/diagnose/offline"
	"github.com/giverny/giverny/schema"
)

// Every supported format of failures gives them with their lines, and omissions are reported.
func TestFormsOfFailures(t *testing.T) {
	const table = "# of the night\n2026-01-05T00:30:00Z\tlink_failed\tleaf3\t8\t\n"
	at := instant(t, "2026-01-05T00:30:00Z")
	link := schema.Failure{Time: at, Kind: schema.LinkFailed, Device: "leaf3", Port: "8"}
	node := schema.Failure{Time: at, Kind: schema.NodeFailed, Device: "host59", Detail: "slurmctld: error: Nodes host59 not responding, setting DOWN"}
	checkForms(t, failuresFile, map[string]form[schema.Failure]{
		"tabs":                   {file: table, text: table},
		"broken":                 {file: "# of the night\n2026-01-05T00:30:00Z\tfell\tleaf3\n", text: "# of the night\n2026-01-05T00:30:00Z\tfell\tleaf3\n"},
		"empty":                  {},
		"CSV":                    {file: "time,kind,device,port\n2026-01-05T00:30:00Z,link_failed,leaf3,8\n", rows: []offline.Row[schema.Failure]{{Value: link, Place: 2}}, note: "f: 1 failure"},
		"a row without a device": {file: "time,kind,device,port\n2026-01-05T00:30:00Z,link_failed,,8\n2026-01-05T00:30:00Z,link_failed,leaf3,8\n", rows: []offline.Row[schema.Failure]{{Value: link, Place: 3}}, note: "f:2: unparsable line"},
		"syslog": {file: "2026-01-05T01:29:00 leaf3 sshd[7]: Accepted\n2026-01-05T01:30:00 head slurmctld[912]: error: Nodes host59 not responding, setting DOWN\n",
			rows: []offline.Row[schema.Failure]{{Value: node, Place: 2}}, note: "f: 1 failure, 1 other line"},
	})
}

func TestAFileThatIsNoneOfFailures(t *testing.T) {
	_, _, err := failuresFile(&offline.File{Name: "f", Reader: strings.NewReader("hello\n")}, time.UTC, func(string) {})
	if err == nil || !strings.Contains(err.Error(), "separated by tabs, commas or semicolons") {
		t.Error(err)
	}
}
