package slurm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/user"
	"strings"

	"github.com/giverny/giverny/internal/test/proc"
)

// startAccounting starts a database and slurmdbd, and registers the cluster.
func (c *Cluster) startAccounting() error {
	who, err := user.Current()
	if err != nil {
		return err
	}
	if err := c.startDatabase(who.Username); err != nil {
		return err
	}
	conf := fmt.Sprintf(`AuthType=auth/none
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort=%d
SlurmUser=%s
PidFile=%[3]s/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=%[2]s
StorageLoc=slurm
`, c.ports[2], who.Username, c.dir)
	if err := os.WriteFile(c.path("slurmdbd.conf"), []byte(conf), 0o600); err != nil {
		return err
	}
	// The client library of the database reads its socket from the environment.
	cmd := c.Command(context.Background(), "env", "MYSQL_UNIX_PORT="+c.path("db.sock"), "slurmdbd", "-D")
	p, err := proc.Start(cmd, c.path("slurmdbd.out"))
	if err != nil {
		return err
	}
	c.parts["slurmdbd"] = p
	c.order = append(c.order, "slurmdbd")
	return c.await("slurmdbd to know the cluster", func() bool {
		out, err := c.Run("sacctmgr", "--immediate", "add", "cluster", "giverny")
		return err == nil || strings.Contains(out, "already exists")
	})
}

func (c *Cluster) startDatabase(owner string) error {
	data := c.path("db")
	if err := os.Mkdir(data, 0o755); err != nil {
		return err
	}
	// No grants and no system tables: slurmdbd makes its own database and needs nothing else.
	err := c.startPart("mariadbd", "mariadbd", "--no-defaults", "--user="+owner, "--datadir="+data, "--skip-networking",
		"--skip-grant-tables", "--socket="+c.path("db.sock"), "--pid-file="+c.path("db.pid"),
		"--innodb-buffer-pool-size=32M", "--innodb-lock-wait-timeout=900")
	if err != nil {
		return err
	}
	return c.await("the database to listen", func() bool {
		_, err := os.Stat(c.path("db.sock"))
		return err == nil
	})
}

// RESTAddress is the address of slurmrestd, http://host:port.
func (c *Cluster) RESTAddress() string { return fmt.Sprintf("http://127.0.0.1:%d", c.ports[1]) }

// User is the user of the test, which slurmrestd requires with its token.
func (c *Cluster) User() string {
	c.tb.Helper()
	who, err := user.Current()
	if err != nil {
		c.tb.Fatal(err)
	}
	return who.Username
}

// Token returns a token (JWT) for slurmrestd, for the user of the test.
func (c *Cluster) Token() string {
	c.tb.Helper()
	return strings.TrimPrefix(strings.TrimSpace(c.Output("scontrol", "token", "lifespan=3600")), "SLURM_JWT=")
}

func (c *Cluster) startREST() error {
	// slurmrestd refuses to run as the user that slurmctld runs as, as it would in production.
	err := c.startPart("slurmrestd", "env", "SLURMRESTD_SECURITY=disable_user_check", "SLURM_JWT=daemon",
		"slurmrestd", "-a", "rest_auth/jwt", strings.TrimPrefix(c.RESTAddress(), "http://"))
	if err != nil {
		return err
	}
	return c.await("slurmrestd to answer", func() bool {
		answer, err := http.Get(c.RESTAddress() + "/openapi/v3")
		if err != nil {
			return false
		}
		return errors.Join(answer.Body.Close()) == nil
	})
}
