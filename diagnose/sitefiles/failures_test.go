package sitefiles

import (
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/diagnose/offline"
)

// Every supported format of failures is converted to tab-separated fields on the same line number, and omissions are reported.
func TestFormsOfFailures(t *testing.T) {
	const table = "2026-01-05T00:30:00Z\tlink_failed\tleaf3\t8\t\n"
	checkForms(t, failuresFile, map[string]form{
		"tabs":                   {"# of the night\n" + table, "# of the night\n" + table, ""},
		"broken":                 {"# of the night\n2026-01-05T00:30:00Z\tfell\tleaf3\n", "# of the night\n2026-01-05T00:30:00Z\tfell\tleaf3\n", ""},
		"empty":                  {"", "", ""},
		"CSV":                    {"time,kind,device,port\n2026-01-05T00:30:00Z,link_failed,leaf3,8\n", "\n" + table, "f: 1 failure"},
		"a row without a device": {"time,kind,device,port\n2026-01-05T00:30:00Z,link_failed,,8\n2026-01-05T00:30:00Z,link_failed,leaf3,8\n", "\n\n" + table, "f:2: unparsable line"},
		"syslog": {"2026-01-05T01:29:00 leaf3 sshd[7]: Accepted\n2026-01-05T01:30:00 head slurmctld[912]: error: Nodes host59 not responding, setting DOWN\n",
			"\n2026-01-05T00:30:00Z\tnode_failed\thost59\t\tslurmctld: error: Nodes host59 not responding, setting DOWN\n", "f: 1 failure, 1 other line"},
	})
}

func TestAFileThatIsNoneOfFailures(t *testing.T) {
	_, err := failuresFile(&offline.File{Name: "f", Reader: strings.NewReader("hello\n")}, time.UTC, func(string) {})
	if err == nil || !strings.Contains(err.Error(), "separated by tabs, commas or semicolons") {
		t.Error(err)
	}
}
