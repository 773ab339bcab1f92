package openapi

import (
	_ "embed"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

//go:embed preamble.md
var preamble string

const generated = "<!-- Made from the code and dashboards/openapi/preamble.md by `make generate`. Do not edit. -->\n\n"

// WritePage writes a document, loaded with its references, as a page of the reference: an introduction, the
// operations by tag in the order of the table, and the fields of the responses.
func WritePage(w io.Writer, doc *openapi3.T, order []string) {
	fmt.Fprint(w, generated, preamble)
	tag := ""
	for _, path := range order {
		operations := doc.Paths.Value(path).Operations()
		for _, method := range slices.Sorted(maps.Keys(operations)) {
			op := operations[method]
			if op.Tags[0] != tag {
				tag = op.Tags[0]
				fmt.Fprintf(w, "## %s\n\n| path below `/api/v1` | answer | parameters |\n|---|---|---|\n", strings.ToUpper(tag[:1])+tag[1:])
			}
			fmt.Fprintf(w, "| `%s%s` | %s | %s |\n", verb(method), path, strings.TrimSpace(op.Summary+" "+op.Description)+answerName(op), parameterList(op))
		}
		if next := slices.Index(order, path) + 1; next == len(order) || tagOf(doc, order[next]) != tag {
			fmt.Fprintln(w)
		}
	}
	writeFields(w, doc)
}

func tagOf(doc *openapi3.T, path string) string {
	for _, op := range doc.Paths.Value(path).Operations() {
		return op.Tags[0]
	}
	return ""
}

// verb is empty for GET.
func verb(method string) string {
	if method == "GET" {
		return ""
	}
	return method + " "
}

// answerName links to the schema of the response.
func answerName(op *openapi3.Operation) string {
	content := op.Responses.Value("200").Value.Content["application/json"]
	if content == nil || content.Schema == nil {
		return ""
	}
	if name := kindOf(content.Schema); strings.HasPrefix(name, "[") || strings.HasPrefix(name, "list of [") {
		return " Gives: " + name + "."
	}
	return ""
}

func parameterList(op *openapi3.Operation) string {
	var all []string
	for _, ref := range op.Parameters {
		p := ref.Value
		if p.In == "path" || p.Name == conditional {
			continue
		}
		text := "`" + p.Name + "`"
		if p.Required {
			text += " (required)"
		}
		if d := p.Schema.Value.Default; d != nil {
			text += fmt.Sprintf(" (%v)", d)
		}
		all = append(all, text+": "+p.Description)
	}
	return strings.Join(all, "<br>")
}

// writeFields lists the fields of each schema.
func writeFields(w io.Writer, doc *openapi3.T) {
	fmt.Fprint(w, "## Answers\n\nFields with a question mark may be left out.\n")
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		s := doc.Components.Schemas[name].Value
		fmt.Fprintf(w, "\n<a name=\"%s\"></a>**%s.** %s\n", strings.ToLower(name), name, s.Description)
		if len(s.Enum) > 0 {
			fmt.Fprintf(w, "One of %s.\n", quoted(s.Enum))
			continue
		}
		fmt.Fprint(w, "\n| field | type | meaning |\n|---|---|---|\n")
		for _, field := range slices.Sorted(maps.Keys(s.Properties)) {
			mark := "?"
			if slices.Contains(s.Required, field) {
				mark = ""
			}
			fmt.Fprintf(w, "| `%s`%s | %s | %s |\n", field, mark, kindOf(s.Properties[field]), meaning(s.Properties[field]))
		}
	}
}

func quoted(values []any) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = fmt.Sprintf("`%v`", v)
	}
	return strings.Join(texts, ", ")
}

// meaning is the description next to a reference, or that of the schema itself.
func meaning(s *openapi3.SchemaRef) string {
	if text, ok := s.Extensions["description"].(string); ok {
		return text
	}
	if s.Ref != "" {
		return ""
	}
	return s.Value.Description
}

// kindOf describes the type of a field in a few words.
func kindOf(s *openapi3.SchemaRef) string {
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		return fmt.Sprintf("[%s](#%s)", name, strings.ToLower(name))
	}
	v := s.Value
	switch {
	case len(v.OneOf) > 0:
		var kinds []string
		for _, one := range v.OneOf {
			kinds = append(kinds, kindOf(one))
		}
		return strings.Join(kinds, " or ")
	case v.Type == nil:
		return "any"
	case v.Type.Is("array"), v.Type.Includes("array"):
		text := "list of " + kindOf(v.Items)
		if v.Type.Includes("null") {
			text += ", or null"
		}
		return text
	case v.Type.Is("object") && v.AdditionalProperties.Schema != nil:
		return "object of " + kindOf(v.AdditionalProperties.Schema)
	case v.Format == "date-time":
		return strings.ReplaceAll(strings.Join(*v.Type, " or "), "string", "time")
	}
	return strings.Join(*v.Type, " or ")
}
