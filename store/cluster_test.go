package store

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/cluster again")

// testCluster has names that need quoting.
var testCluster = ClusterConfig{Name: "two shards", Database: "giverny-1"}

// The statements for a cluster for each migration; go test ./store -run Cluster
// -rewrite updates them, for review.
func TestMigrationsForACluster(t *testing.T) {
	for _, step := range ownMigrations(t) {
		var text strings.Builder
		for _, statement := range step.statements {
			rendered, err := render(statement, testCluster)
			if err != nil {
				t.Fatalf("step %04d_%s: %v", step.Version, step.Name, err)
			}
			for _, s := range rendered {
				text.WriteString(s + ";\n\n")
			}
			if alone, err := render(statement, ClusterConfig{Database: "giverny"}); err != nil || len(alone) != 1 || alone[0] != statement {
				t.Errorf("step %04d_%s is not what one server is sent: %q, %v", step.Version, step.Name, alone, err)
			}
		}
		compareFile(t, filepath.Join("testdata", "cluster", fmt.Sprintf("%04d_%s.sql", step.Version, step.Name)), text.String())
	}
	compareFile(t, filepath.Join("testdata", "cluster", "0000_database.sql"), createDatabase(testCluster)+";\n\n"+migrationTable(testCluster)+";\n")
}

func compareFile(t *testing.T, path, got string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: %s", path, diff)
	}
}

func TestRenderRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, statement := range []string{"DROP TABLE a", "CREATE TABLE a (x UInt8) ORDER BY x", "CREATE TABLE IF NOT EXISTS a (x String DEFAULT ')' ORDER BY x", "INSERT INTO a SELECT 1", "CREATE VIEW a AS SELECT 1"} {
		if got, err := render(statement, testCluster); err == nil {
			t.Errorf("%s becomes %q", statement, got)
		}
	}
}

func TestRecreate(t *testing.T) {
	for create, want := range map[string]string{
		"CREATE TABLE g.a_local (`x` UInt8) ENGINE = ReplicatedMergeTree('/p/{shard}/g/a_local', '{replica}') ORDER BY x": "CREATE TABLE IF NOT EXISTS `g`.`a_local` ON CLUSTER `c` (`x` UInt8) ENGINE = ReplicatedMergeTree('/p/{shard}/g/a_local', '{replica}') ORDER BY x",
		"CREATE VIEW `g`.`a_local` (`x` UInt8) AS SELECT x FROM g.b":                                                      "CREATE VIEW IF NOT EXISTS `g`.`a_local` ON CLUSTER `c` (`x` UInt8) AS SELECT x FROM g.b",
		"CREATE DICTIONARY g.a_local (x UInt8)":                                                                           "",
		"":                                                                                                                "",
	} {
		got, err := recreate(create, "a_local", ClusterConfig{Name: "c", Database: "g"})
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: got %q, %v", create, got, err)
		}
	}
}
