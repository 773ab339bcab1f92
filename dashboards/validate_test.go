package dashboards

import (
	"bytes"
	"io"
	"net/http"
	"path"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"github.com/giverny/giverny/dashboards/operation"
)

// contract is the committed document, ready to validate requests and answers.
var contract = sync.OnceValues(func() (routers.Router, error) {
	openapi3filter.RegisterBodyDecoder(operation.ArrowStream, openapi3filter.FileBodyDecoder)
	doc, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		return nil, err
	}
	return gorillamux.NewRouter(doc)
})

// validate checks that an answer has a status that the document lists for its path, and a body of the type and schema
// there. Paths below the API's prefix that are not in the document must be answered with errors.
func validate(t testing.TB, request *http.Request, response *http.Response, body []byte) {
	t.Helper()
	router, err := contract()
	if err != nil {
		t.Fatal(err)
	}
	route, parameters, err := router.FindRoute(request)
	if err != nil {
		if response.StatusCode < http.StatusBadRequest && strings.HasPrefix(path.Clean(request.URL.Path), Prefix) {
			t.Errorf("%s %s answers with %d and is not in the document", request.Method, request.URL, response.StatusCode)
		}
		return
	}
	input := &openapi3filter.ResponseValidationInput{Status: response.StatusCode, Header: response.Header, Body: io.NopCloser(bytes.NewReader(body)),
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: request, PathParams: parameters, Route: route},
		Options:                &openapi3filter.Options{IncludeResponseStatus: true}}
	if response.Header.Get("Content-Type") == eventStream {
		input.Options.ExcludeResponseBody = true
	}
	if err := openapi3filter.ValidateResponse(t.Context(), input); err != nil {
		t.Errorf("%s %s: %d: %v", request.Method, request.URL, response.StatusCode, err)
	}
}
