package readonly

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// helloQuery is the first query of clickhouse-go; httpapi answers it.
const helloQuery = "SELECT displayName(), version(), revision(), timezone()"

// maxTree is the maximum size of a statement's syntax tree, in bytes.
const maxTree = 8 << 20

// check rejects everything but a SELECT over the database's own tables. The engine parses
// the statement, so quotes or comments hide nothing; its grants, which include no files,
// addresses or other servers, and readonly = 1 apply in addition.
func (h *Handler) check(ctx context.Context, ask *question) error {
	if !selects.MatchString(ask.sql) {
		return refused("only SELECT statements are allowed")
	}
	parameters := url.Values{"default_format": {"TSVRaw"}}
	for name, value := range ask.parameters {
		if strings.HasPrefix(name, "param_") {
			parameters[name] = value
		}
	}
	response, err := h.send(ctx, explain+ask.sql, parameters)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	tree, err := io.ReadAll(io.LimitReader(response.Body, maxTree+1))
	switch {
	case err != nil:
		return err
	case len(tree) > maxTree: // its end would not be checked
		return refused("a statement whose syntax tree has more than %d bytes is not allowed", maxTree)
	}
	if response.StatusCode != http.StatusOK {
		return notParsed(response, tree)
	}
	return h.checkTree(string(tree))
}

// explain precedes a statement that is to be parsed only.
const explain = "EXPLAIN AST "

// notParsed returns the engine's own exception, with positions in the statement without explain.
func notParsed(response *http.Response, said []byte) error {
	code, err := strconv.Atoi(response.Header.Get("X-ClickHouse-Exception-Code"))
	if err != nil {
		return fmt.Errorf("the engine cannot parse a statement: %s: %.200s", response.Status, said)
	}
	e := &exception{status: response.StatusCode, code: code, name: "UNKNOWN_EXCEPTION", text: strings.TrimSpace(string(said))}
	if m := engineException.FindStringSubmatch(e.text); m != nil {
		e.text, e.name = m[1], m[2]
	}
	e.text = position.ReplaceAllStringFunc(e.text, func(at string) string {
		part := position.FindStringSubmatch(at)
		n, _ := strconv.Atoi(part[2])
		return part[1] + strconv.Itoa(n-len(explain))
	})
	return e
}

var (
	engineException = regexp.MustCompile(`(?s)^Code: \d+\. DB::Exception: (.*?)\.? \((\w+)\)(?: \(version [^)]*\))?$`)
	position        = regexp.MustCompile(`(failed at position |\(line 1, col )(\d+)`)
)

// selects matches how a statement may begin, after comments.
var selects = regexp.MustCompile(`(?is)^(?:\s|--[^\n]*\n|/\*.*?\*/|\()*(SELECT|WITH)\b`)

// tableFunctions are the allowed table functions, which access no data.
var tableFunctions = []string{"numbers", "zeros", "generateseries", "generate_series", "values", "null"}

// deniedFunctions access more than the tables of a query, or reveal something about the host.
var deniedFunctions = regexp.MustCompile(`(?i)^(file|dict\w*|joinget\w*|hascolumnintable|catboostevaluate|executable\w*|sleep\w*|getserverport|getmacro|getsetting\w*|servertimezone|serveruuid|reversednsquery|hostname|fqdn|fullhostname|` +
	`getossetting|getoskernelversion|tcpport|filesystem\w*|currentuser|user|currentroles|enabledroles|defaultroles|currentprofiles|enabledprofiles|showcertificate|connectionid|initialqueryid|queryid|zookeepersessionuptime|` +
	`transaction\w*|throwif|addresstoline\w*|addresstosymbol|demangle|naivebayesclassifier|evalmlmethod|meilimatch|ai\w+|url|s3|remote\w*|cluster\w*|merge|input|view\w*)$`)

var (
	treeLine = regexp.MustCompile(`^( *)(\w+)(?: (.*?))?(?: \(alias [^)]*\))?(?: \(children \d+\))?$`)
	// allowed are the allowed kinds of nodes. COLUMNS ... APPLY is not among them, because
	// EXPLAIN AST does not print its function.
	allowed = []string{"SelectWithUnionQuery", "SelectIntersectExceptQuery", "SelectQuery", "ExpressionList", "Function", "Identifier", "TableIdentifier", "Literal", "Asterisk", "QualifiedAsterisk", "ColumnsRegexpMatcher",
		"ColumnsListMatcher", "ColumnsTransformerList", "ColumnsExceptTransformer", "ColumnsReplaceTransformer", "ColumnsReplaceTransformer::Replacement", "TablesInSelectQuery", "TablesInSelectQueryElement", "TableExpression", "TableJoin",
		"ArrayJoin", "Subquery", "WithElement", "OrderByElement", "StorageOrderByElement", "InterpolateElement", "WindowDefinition", "WindowListElement", "QueryParameter", "SampleRatio", "DataTypeFunction", "DataType", "NameTypePair"}
)

// checkTree checks the output of EXPLAIN AST: one node per line, indented below its parent.
func (h *Handler) checkTree(tree string) error {
	var parents []string // kinds of the nodes above, by depth
	for line := range strings.Lines(tree) {
		line = strings.TrimRight(line, "\r\n")
		m := treeLine.FindStringSubmatch(line)
		if m == nil {
			continue // continuation of a multi-line literal
		}
		depth, kind, name := len(m[1]), m[2], m[3]
		parents = append(parents[:min(depth, len(parents))], kind)
		within := ""
		if depth > 0 && depth <= len(parents)-1 {
			within = parents[depth-1]
		}
		if err := h.checkNode(kind, name, within); err != nil {
			return err
		}
	}
	return nil
}

func (h *Handler) checkNode(kind, name, within string) error {
	if kind == "Function" { // a multi-line alias may follow it
		name, _, _ = strings.Cut(name, " ")
	}
	switch {
	case kind == "Set":
		return &exception{http.StatusForbidden, 164, "READONLY", "Cannot modify settings in readonly mode: the listener sets limits itself"}
	case !slices.Contains(allowed, kind):
		return refused("a statement with %s is not allowed", kind)
	case kind == "QueryParameter" && strings.Contains(strings.ToLower(name), "identifier"):
		return refused("names may not be parameters")
	case kind == "Function" && within == "TableExpression":
		if !slices.Contains(tableFunctions, strings.ToLower(name)) {
			return refused("the table function %s() is not allowed", name)
		}
	case kind == "Function" && deniedFunctions.MatchString(name):
		return refused("the function %s() is not allowed", name)
	case kind == "TableIdentifier":
		if database, _, qualified := strings.Cut(name, "."); qualified && strings.Trim(database, "`\"") != h.database {
			return refused("%s is not a table of %s", name, h.database)
		}
	case kind == "Identifier":
		database, _, qualified := strings.Cut(name, ".")
		if qualified && slices.Contains([]string{"system", "information_schema", "default", "_temporary_and_external_tables"}, strings.ToLower(strings.Trim(database, "`\""))) {
			return refused("%s is not of a table of %s", name, h.database)
		}
	}
	return nil
}
