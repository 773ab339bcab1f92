//go:build engine || integration

package dashboards

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"pgregory.net/rapid"

	"github.com/giverny/giverny/dashboards/operation"
)

// Requests drawn from the document, right and wrong ones, over the real store: every answer is one that the document
// has, what the document does not allow is refused, and nothing is a server error.
func TestRequestsFromTheDocument(t *testing.T) {
	h := open(t, mesh)
	h.store(h.graph(mesh), twoIntervals(h.graph(mesh))...)
	router, err := contract()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, path := range doc.Paths.InMatchingOrder() {
		if path != "/stream" { // it does not end
			paths = append(paths, path)
		}
	}
	statuses := map[int]int{}
	rapid.Check(t, func(r *rapid.T) {
		path := rapid.SampledFrom(paths).Draw(r, "path")
		request := drawRequest(r, h.url, path, doc.Paths.Value(path).Get)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			r.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			r.Fatal(err)
		}
		statuses[answer.StatusCode]++
		if answer.StatusCode >= http.StatusInternalServerError {
			r.Fatalf("%s: %d %s\n%s", request.URL, answer.StatusCode, body, h.log)
		}
		validate(t, request, answer, body)
		route, parameters, err := router.FindRoute(request)
		if err != nil {
			return // the parameter's text made it another path
		}
		wrong := openapi3filter.ValidateRequest(r.Context(), &openapi3filter.RequestValidationInput{Request: request, PathParams: parameters, Route: route,
			Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}})
		if wrong != nil && answer.StatusCode < http.StatusBadRequest && answer.StatusCode != http.StatusNotModified {
			r.Fatalf("%s is answered with %d, and the document does not allow it: %v", request.URL, answer.StatusCode, wrong)
		}
		if t.Failed() {
			r.FailNow()
		}
	})
	if statuses[http.StatusOK] == 0 || statuses[http.StatusBadRequest] == 0 || statuses[http.StatusNotFound] == 0 {
		t.Errorf("the requests are all of a kind: %v", statuses)
	}
}

func drawRequest(r *rapid.T, base, path string, op *openapi3.Operation) *http.Request {
	query := url.Values{}
	header := http.Header{}
	for _, ref := range op.Parameters {
		p := ref.Value
		if !p.Required && rapid.IntRange(0, 2).Draw(r, p.Name+" is left out") > 0 {
			continue
		}
		text := drawValue(r, p.Name, p.Schema.Value)
		switch p.In {
		case "path":
			if text == "" || text == "." || text == ".." {
				text = "x"
			}
			path = strings.ReplaceAll(path, "{"+p.Name+"}", url.PathEscape(text))
		case "query":
			query.Set(p.Name, text)
		case "header":
			header.Set(p.Name, strings.Map(printable, text))
		}
	}
	if rapid.IntRange(0, 20).Draw(r, "one more") == 0 {
		query.Set(rapid.String().Draw(r, "name"), "1")
	}
	request, err := http.NewRequest(http.MethodGet, base+Prefix+path+"?"+query.Encode(), nil)
	if err != nil {
		r.Fatal(err)
	}
	if accept := rapid.SampledFrom([]string{"", "*/*", operation.JSON, operation.ArrowStream, "text/html;q=0.9, */*;q=0.1", ";;,"}).Draw(r, "accept"); accept != "" {
		header.Set("Accept", accept)
	}
	request.Header = header
	return request
}

func printable(c rune) rune {
	if c < ' ' || c > '~' {
		return -1
	}
	return c
}

// drawValue draws mostly a value that fits the schema or is at its bounds, else any text.
func drawValue(r *rapid.T, name string, s *openapi3.Schema) string {
	switch {
	case rapid.IntRange(0, 9).Draw(r, name+" is any text") == 0:
		return rapid.String().Draw(r, name)
	case name == "fabric":
		return rapid.SampledFrom([]string{mesh, mesh, mesh, "nowhere", "a/b", "%00"}).Draw(r, name)
	case name == "region":
		return rapid.SampledFrom([]string{fmt.Sprint(firstRegion), "0", "1", "9007199254740992"}).Draw(r, name)
	case len(s.Enum) > 0:
		text := rapid.SampledFrom(s.Enum).Draw(r, name).(string)
		return rapid.SampledFrom([]string{text, text, text, strings.ToUpper(text), text + ",", ""}).Draw(r, "form of "+name)
	case len(s.OneOf) > 0: // a time
		return rapid.SampledFrom([]string{"2023-11-14T22:13:20Z", "2023-11-14T22:13:21.5+01:00", "1700000000000", "0", "1", "-1", "7258118400000", "7258118400001", "+1", "1e3", " 1",
			"9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "2023-11-14"}).Draw(r, name)
	case s.Type.Is("integer") || s.Type.Is("number"):
		values := []string{"0", "1", "3", "-1", "1e3", "4294967296", "18446744073709551616", "+1", "01", "-0", "0.5", "1.0", "0x1", "0x1p1", "1_0", "Inf", "NaN", " 1", ""}
		for _, bound := range []*float64{s.Min, s.Max} {
			if bound != nil {
				values = append(values, fmt.Sprintf("%.0f", *bound-1), fmt.Sprintf("%.0f", *bound), fmt.Sprintf("%.0f", *bound+1))
			}
		}
		return rapid.SampledFrom(values).Draw(r, name)
	case s.Type.Is("boolean"):
		return rapid.SampledFrom([]string{"true", "false", "0", "1", "TRUE", "t", "True", ""}).Draw(r, name)
	case s.Type.Is("array"):
		var parts []string
		for i := range rapid.IntRange(1, 3).Draw(r, "length of "+name) {
			parts = append(parts, drawValue(r, fmt.Sprint(name, i), s.Items.Value))
		}
		return strings.Join(parts, ",")
	}
	return rapid.SampledFrom([]string{"", "30ms", cursor{time: 1}.String(), "AAAA", "0123456789abcdef", "0123456789ABCDEF", "+123456789abcdef", "1", ","}).Draw(r, name)
}
