package dashboards

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/giverny/giverny/dashboards/openapi"
	"github.com/giverny/giverny/internal/test/repo"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

var rewrite = flag.Bool("rewrite", false, "write the answers into testdata/answers.txt")

//go:generate go test . -run TestTheDocumentIsCurrent -rewrite

// The JSON of types that write their own, as package schema has it.
type (
	regionLike struct {
		regionFields
		// When it was first seen; left out where it was not tracked.
		Birth schema.Instant `json:"birth,omitzero"`
	}
	regionFields    schema.Region
	congestionEvent struct {
		Begin           schema.Instant `json:"begin"`
		End             schema.Instant `json:"end"` // of the last interval with a High region
		PeakMeanPercent float64        `json:"peak_mean_percent"`
	}
	hotLink struct {
		Metric schema.Metric  `json:"metric"`
		Link   schema.LinkID  `json:"link"`
		Since  schema.Instant `json:"since"`
	}
	event struct {
		Time     schema.Instant   `json:"time"`
		Fabric   string           `json:"fabric,omitempty"`
		Kind     schema.EventKind `json:"kind"`
		Device   string           `json:"device,omitempty"`
		Port     string           `json:"port,omitempty"`
		RegionID uint64           `json:"region_id,omitempty"`
		JobID    string           `json:"job_id,omitempty"`
		Detail   string           `json:"detail,omitempty"`
	}
	networkForecast struct {
		State    stateName       `json:"state"`
		Severity schema.Severity `json:"at_least,omitempty"` // of the little that was measured, where the state is not known
		Unknown  *schema.Unknown `json:"unknown,omitempty"`
		Next     schema.Odds     `json:"next"`  // odds of [Neg, Low, Medium, High, gone] in the next interval
		Later    schema.Odds     `json:"later"` // the same in five intervals
	}
	stateName string
	unknown   struct {
		Reason schema.UnknownReason `json:"reason"`
		Since  string               `json:"since"`            // RFC 3339; empty where it is not known
		Detail string               `json:"detail,omitempty"` // for a person
	}
	probability struct{}
	countsOf    struct {
		Counts        [schema.NumStates][schema.NumStates]int `json:"counts"`        // a row for each state before, a column for each state after
		Probabilities []probability                           `json:"probabilities"` // the same; a row is null where there were none
	}
)

func names[T ~string](list []T) (texts []string) {
	for _, v := range list {
		texts = append(texts, string(v))
	}
	return texts
}

func described(root string) openapi.API {
	var severities, metrics []string
	for _, s := range schema.Severities {
		severities = append(severities, s.String())
	}
	for m := schema.NoMetric + 1; int(m) < schema.NumMetrics; m++ {
		metrics = append(metrics, m.String())
	}
	text := func(format, pattern string) *openapi3.Schema {
		return &openapi3.Schema{Type: &openapi3.Types{"string"}, Format: format, Pattern: pattern}
	}
	row := &openapi3.Schema{Type: &openapi3.Types{"array", "null"}, Items: openapi3.NewFloat64Schema().NewRef()}
	zero, latest := 0., float64(latestMillis)
	return openapi.API{Title: "Giverny", Version: "1", Prefix: Prefix, Root: root,
		Description: "Congestion regions of RDMA fabrics, live and stored. Times of answers are RFC 3339; those of queries may be milliseconds since 1970, too. Durations are seconds. Errors are problem+json (RFC 9457). Lists that may be long come in pages: `next` is the `cursor` of the page with the older ones.",
		Extra:       []reflect.Type{reflect.TypeFor[announcement]()},
		Values: map[reflect.Type][]string{
			reflect.TypeFor[schema.Severity]():        severities,
			reflect.TypeFor[schema.Metric]():          metrics,
			reflect.TypeFor[schema.UnknownReason]():   names(schema.UnknownReasons[:]),
			reflect.TypeFor[eventKind]():              names(schema.EventKinds()),
			reflect.TypeFor[stateName]():              append(severities[:len(severities):len(severities)], "Unknown"),
			reflect.TypeFor[schema.FeedbackOutcome](): names(schema.FeedbackOutcomes[:]),
			reflect.TypeFor[schema.CauseClass](): {string(schema.CauseSystem), string(schema.CauseFailure), string(schema.CauseIntraApplication),
				string(schema.CauseSlowHost), string(schema.CauseUnknown)},
		},
		Like: map[reflect.Type]reflect.Type{
			reflect.TypeFor[schema.Region]():          reflect.TypeFor[regionLike](),
			reflect.TypeFor[schema.Root]():            reflect.TypeFor[schema.RootJSON](),
			reflect.TypeFor[regionFields]():           reflect.TypeFor[regionFields](),
			reflect.TypeFor[schema.CongestionEvent](): reflect.TypeFor[congestionEvent](),
			reflect.TypeFor[schema.HotLink]():         reflect.TypeFor[hotLink](),
			reflect.TypeFor[schema.Event]():           reflect.TypeFor[event](),
			reflect.TypeFor[schema.Unknown]():         reflect.TypeFor[unknown](),
			reflect.TypeFor[schema.NetworkForecast](): reflect.TypeFor[networkForecast](),
			reflect.TypeFor[read.Transitions]():       reflect.TypeFor[countsOf](),
		},
		Formats: map[reflect.Type]*openapi3.Schema{
			reflect.TypeFor[schema.Instant]():  text("date-time", ""),
			reflect.TypeFor[read.Version]():    text("", "^[0-9a-f]{16}$"),
			reflect.TypeFor[waiting]():         text("", ""),
			reflect.TypeFor[cursor]():          text("", ""),
			reflect.TypeFor[percent]():         {Type: &openapi3.Types{"number", "null"}},
			reflect.TypeFor[probability]():     row,
			reflect.TypeFor[json.RawMessage](): {Type: &openapi3.Types{"object"}},
			reflect.TypeFor[moment](): {OneOf: openapi3.SchemaRefs{text("date-time", "").NewRef(),
				(&openapi3.Schema{Type: &openapi3.Types{"integer"}, Min: &zero, Max: &latest}).NewRef()}},
		}}
}

// The OpenAPI document is valid and agrees with the code; the reference page agrees with the document.
func TestTheDocumentIsCurrent(t *testing.T) {
	doc, err := openapi.Of(described(repo.Dir(t)), endpoints())
	if err != nil {
		t.Fatal(err)
	}
	text, err := openapi.Text(doc)
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := loaded.Validate(t.Context(), openapi3.IsOpenAPI31OrLater()); err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, e := range endpoints() {
		if !slices.Contains(order, e.Path) {
			order = append(order, e.Path)
		}
	}
	var page bytes.Buffer
	openapi.WritePage(&page, loaded, order)
	for name, want := range map[string][]byte{"dashboards/openapi.json": text, "docs/reference/http-api.md": page.Bytes()} {
		path := filepath.Join(repo.Dir(t), name)
		if *rewrite {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if was, err := os.ReadFile(path); err != nil || !bytes.Equal(was, want) {
			t.Errorf("%s is not what the code says; run make generate", name)
		}
	}
}
