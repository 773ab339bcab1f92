package slurm

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/user"
	"strings"
)

// configure writes slurm.conf and related files.
func (c *Cluster) configure() error {
	who, err := user.Current()
	if err != nil {
		return err
	}
	var text strings.Builder
	fmt.Fprintf(&text, `ClusterName=giverny
SlurmctldHost=%s(127.0.0.1)
SlurmUser=%[2]s
SlurmdUser=%[2]s
AuthType=auth/none
CredType=cred/none
SlurmctldPort=%[3]d
SlurmctldPidFile=%[4]s/slurmctld.pid
SlurmdPidFile=%[4]s/slurmd.%%n.pid
SlurmdSpoolDir=%[4]s/spool/%%n
StateSaveLocation=%[4]s/state
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SlurmdTimeout=300
MinJobAge=300
SchedulerParameters=sched_interval=1,batch_sched_delay=0,bf_interval=1
JobCompType=jobcomp/none
SlurmdParameters=config_overrides
`, c.host, who.Username, c.ports[0], c.dir)
	if c.cfg.Accounting {
		fmt.Fprintf(&text, "AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=127.0.0.1\nAccountingStoragePort=%d\n", c.ports[2])
	} else {
		text.WriteString("AccountingStorageType=accounting_storage/none\n")
	}
	if c.cfg.Topology != "" {
		text.WriteString("TopologyPlugin=topology/tree\n")
		if err := os.WriteFile(c.path("topology.conf"), []byte(c.cfg.Topology), 0o644); err != nil {
			return err
		}
	}
	if c.cfg.REST {
		key := make([]byte, 32)
		rand.Read(key)
		if err := os.WriteFile(c.path("jwt.key"), key, 0o600); err != nil {
			return err
		}
		fmt.Fprintf(&text, "AuthAltTypes=auth/jwt\nAuthAltParameters=jwt_key=%s\n", c.path("jwt.key"))
	}
	for i, node := range c.cfg.Nodes {
		fmt.Fprintf(&text, "NodeName=%s NodeHostname=%s NodeAddr=127.0.0.1 Port=%d CPUs=%d State=UNKNOWN\n", node, c.host, c.ports[3+i], c.cfg.CPUs)
	}
	text.WriteString("PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n")
	for _, line := range c.cfg.Extra {
		text.WriteString(line + "\n")
	}
	if err := os.Mkdir(c.path("state"), 0o755); err != nil {
		return err
	}
	return os.WriteFile(c.path("slurm.conf"), []byte(text.String()), 0o644)
}
