package enginetest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/giverny/giverny/store/engine"
	"github.com/giverny/giverny/store/engine/chdb"
)

// RunInProcess runs the tests with an engine in this process, which can have
// only one, and exits. It is the whole of a TestMain; it calls use with the
// engine first.
func RunInProcess(m *testing.M, use func(*chdb.Engine)) {
	dir, err := os.MkdirTemp("", "giverny-enginetest-")
	if err != nil {
		fail(err)
	}
	e, err := openIn(dir)
	if err != nil {
		os.RemoveAll(dir)
		fail(err)
	}
	use(e)
	code := m.Run()
	e.Close()
	os.RemoveAll(dir)
	os.Exit(code)
}

// Session opens a session for one test.
func Session(t testing.TB, e *chdb.Engine) *chdb.Session {
	t.Helper()
	session, err := e.Session()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	return session
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "these tests need the embedded engine:", err)
	os.Exit(1)
}

// defaultUser may do everything, from any address.
const defaultUser = `<clickhouse><profiles><default><implicit_select>0</implicit_select></default></profiles>
	<users><default><password/><networks><ip>::/0</ip></networks><profile>default</profile><quota>default</quota></default></users>
	<quotas><default/></quotas></clickhouse>`

func openIn(dir string) (*chdb.Engine, error) {
	library, err := engine.FindLibrary("")
	if err != nil {
		return nil, err
	}
	config, users := filepath.Join(dir, "config.xml"), filepath.Join(dir, "users.xml")
	if err := os.WriteFile(config, []byte("<clickhouse><users_config>"+users+"</users_config></clickhouse>"), 0o600); err != nil {
		return nil, err
	}
	if err := os.WriteFile(users, []byte(defaultUser), 0o600); err != nil {
		return nil, err
	}
	return chdb.Open(library, filepath.Join(dir, "data"), config)
}
