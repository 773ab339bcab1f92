package envelope

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/giverny/giverny/schema"
)

// The reference has everything that a reader in another language needs: the numbers of the kinds, and names of columns and
// metadata.
func TestTheReferenceNamesAllThatIsOnTheWire(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/kafka.md")
	if err != nil {
		t.Fatal(err)
	}
	var wanted []string
	for k := range Kind(len(kindNames)) {
		if k.known() {
			wanted = append(wanted, fmt.Sprintf("%d `%s`", k, k))
		}
	}
	for _, name := range []string{schema.MetaFabric, schema.MetaSource, schema.MetaAgent, schema.MetaSequence, schema.MetaEpoch, schema.MetaInterval,
		metaGraphVersion, metaIntervalStart, metaUnknown, metaUnknownSince, metaRevision} {
		wanted = append(wanted, "`"+name+"`")
	}
	for _, f := range append(schema.RegionArrow.Fields(), schema.EventArrow.Fields()...) {
		wanted = append(wanted, "`"+f.Name+"`")
	}
	for _, want := range wanted {
		if !strings.Contains(string(text), want) {
			t.Errorf("docs/reference/kafka.md lacks %s", want)
		}
	}
}
