package readonly

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// maxStatement is the maximum size of a statement, in bytes.
const maxStatement = 256 << 10

// Handler serves analysts' queries.
type Handler struct {
	cfg      Config
	database string
	password string // empty: none is required
	engine   *http.Client
	slots    chan struct{} // one per running query
	log      *slog.Logger
}

// New returns a Handler for the tables of a database. dial connects to the engine.
func New(cfg Config, database string, dial func(ctx context.Context, address string) (net.Conn, error), log *slog.Logger) (*Handler, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	password, err := cfg.Password.Or(cfg.PasswordFile)
	if err != nil {
		return nil, fmt.Errorf("store.analyst: %w", err)
	}
	if cfg.protected() && password == "" {
		return nil, errors.New("store.analyst: the password is empty; set password or password_file")
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, address string) (net.Conn, error) { return dial(ctx, address) }, DisableCompression: true, MaxIdleConns: cfg.MaxQueries}
	return &Handler{cfg, database, password, &http.Client{Transport: transport}, make(chan struct{}, cfg.MaxQueries), log}, nil
}

// exception is an error response in ClickHouse's format.
type exception struct {
	status, code int
	name, text   string
}

func (e *exception) Error() string { return e.text }

func refused(format string, args ...any) *exception {
	return &exception{http.StatusForbidden, 497, "ACCESS_DENIED", fmt.Sprintf(format, args...)}
}

// ServeHTTP answers GET /ping, and SELECT statements in the URL or the body of a request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/ping" {
		io.WriteString(w, "Ok.\n")
		return
	}
	err := h.answer(w, r)
	var e *exception
	if err == nil || r.Context().Err() != nil {
		return
	}
	if !errors.As(err, &e) {
		h.log.Warn("readonly: query failed", slog.Any("error", err))
		e = &exception{http.StatusBadGateway, 279, "ALL_CONNECTION_TRIES_FAILED", "the engine does not answer"}
	}
	if e.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Basic realm="ClickHouse HTTP API"`)
	}
	w.Header().Set("X-ClickHouse-Exception-Code", strconv.Itoa(e.code))
	w.Header().Set("Content-Type", "text/plain; charset=UTF-8")
	w.WriteHeader(e.status)
	fmt.Fprintf(w, "Code: %d. DB::Exception: %s. (%s)\n", e.code, strings.TrimSuffix(e.text, "."), e.name)
}

func (h *Handler) answer(w http.ResponseWriter, r *http.Request) error {
	if !h.admits(r) {
		return &exception{http.StatusUnauthorized, 516, "AUTHENTICATION_FAILED", "Authentication failed: the user or the password is wrong"}
	}
	ask, err := h.read(r)
	if err != nil {
		return err
	}
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	default:
		return &exception{http.StatusTooManyRequests, 202, "TOO_MANY_SIMULTANEOUS_QUERIES", "Too many simultaneous queries: try again later"}
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(h.cfg.Timeout + writeMargin)) // unsupported by the ResponseWriters of some tests
	if ask.sql != helloQuery {
		if err := h.check(r.Context(), ask); err != nil {
			return err
		}
	}
	response, err := h.send(r.Context(), ask.sql, ask.parameters)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	for name, values := range response.Header {
		if strings.HasPrefix(name, "X-Clickhouse-") || name == "Content-Type" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(response.StatusCode)
	_, err = io.Copy(flushing{w, http.NewResponseController(w)}, response.Body)
	if err != nil && r.Context().Err() == nil {
		h.log.Warn("readonly: result aborted", slog.Any("error", err))
		panic(http.ErrAbortHandler) // shows the client that the result is incomplete
	}
	return nil
}

// writeMargin is how long a client may take to read a result beyond the query's timeout.
const writeMargin = time.Minute

// flushing sends each part of a result immediately.
type flushing struct {
	io.Writer
	control *http.ResponseController
}

func (f flushing) Write(p []byte) (int, error) {
	n, err := f.Writer.Write(p)
	if err == nil {
		err = f.control.Flush()
	}
	return n, err
}

// admits checks user and password, given in any of the ways of ClickHouse's HTTP interface.
func (h *Handler) admits(r *http.Request) bool {
	if h.password == "" {
		return true
	}
	user, password, ok := r.BasicAuth()
	if !ok {
		user, password = r.Header.Get("X-ClickHouse-User"), r.Header.Get("X-ClickHouse-Key")
		if user == "" {
			user, password = r.URL.Query().Get("user"), r.URL.Query().Get("password")
		}
	}
	same := func(a, b string) int {
		x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
		return subtle.ConstantTimeCompare(x[:], y[:])
	}
	return same(user, h.cfg.User)&same(password, h.password) == 1
}

// question is a statement with its URL parameters.
type question struct {
	sql        string
	parameters url.Values
}

// ignored are parameters of the interface that have no effect here.
var ignored = map[string]bool{"user": true, "password": true, "quota_key": true, "query_id": true, "session_check": true, "session_timeout": true, "client_protocol_version": true,
	"buffer_size": true, "http_write_exception_in_output_format": true, "network_compression_method": true, "network_zstd_compression_level": true, "send_progress_in_http_headers": true}

// read parses a request. The listener sets the settings itself: it rejects a client's,
// except those for the output format.
func (h *Handler) read(r *http.Request) (*question, error) {
	if r.Method != http.MethodGet && r.Method != http.MethodPost {
		return nil, refused("the method %s is not allowed: want GET or POST", r.Method)
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" {
		return nil, &exception{http.StatusNotImplemented, 48, "NOT_IMPLEMENTED", "requests may not be compressed"}
	}
	ask := &question{parameters: url.Values{}}
	for name, values := range r.URL.Query() {
		switch value := values[0]; {
		case name == "query":
			ask.sql = value
		case name == "database":
			if value != "" && value != h.database {
				return nil, refused("database %q: only %s can be read", value, h.database)
			}
		case name == "default_format", name == "wait_end_of_query", strings.HasPrefix(name, "param_"), strings.HasPrefix(name, "output_format_"), strings.HasPrefix(name, "format_csv_"):
			ask.parameters.Set(name, value)
		case (name == "compress" || name == "decompress" || name == "enable_http_compression") && value != "1", ignored[name]:
		case name == "readonly" && (value == "1" || value == "2"):
		case name == "max_execution_time" && seconds(value) > 0: // clients send their own deadline
			ask.parameters.Set(name, value)
		default:
			return nil, &exception{http.StatusForbidden, 164, "READONLY", fmt.Sprintf("Cannot modify %q in readonly mode: the listener sets limits itself", name)}
		}
	}
	if ask.parameters.Get("default_format") == "" {
		if format := r.Header.Get("X-ClickHouse-Format"); format != "" {
			ask.parameters.Set("default_format", format)
		}
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxStatement+1))
	if err != nil {
		return nil, refused("the request ended unexpectedly")
	}
	ask.sql = strings.TrimSpace(strings.TrimRight(strings.TrimSpace(ask.sql+"\n"+string(body)), ";"))
	if len(ask.sql) > maxStatement {
		return nil, refused("the statement has more than %d bytes", maxStatement)
	}
	return ask, nil
}

// seconds parses a limit; 0 if text is not a positive number.
func seconds(text string) float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n > 0) {
		return 0
	}
	return n
}

// send sends a statement to the engine with the listener's settings, which a statement
// cannot change: it runs with readonly = 1.
func (h *Handler) send(ctx context.Context, sql string, parameters url.Values) (*http.Response, error) {
	values := url.Values{}
	maps.Copy(values, parameters)
	limit := h.cfg.Timeout.Seconds()
	if own := seconds(parameters.Get("max_execution_time")); own > 0 {
		limit = min(limit, own)
	}
	for name, value := range map[string]any{"database": h.database, "readonly": 1, "max_execution_time": limit, "timeout_overflow_mode": "throw",
		"max_memory_usage": h.cfg.MaxMemoryBytes, "max_result_bytes": h.cfg.MaxResultBytes, "result_overflow_mode": "throw", "max_bytes_before_external_group_by": 0, "max_bytes_before_external_sort": 0} {
		values.Set(name, fmt.Sprint(value))
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/?"+values.Encode(), strings.NewReader(sql))
	if err != nil {
		return nil, err
	}
	return h.engine.Do(request)
}
