// Package httpapi serves the part of the ClickHouse HTTP interface that
// clickhouse-go/v2 uses (Protocol: HTTP) over an engine in the same process:
// requests come in, statements go to the engine, results and exceptions go
// out. It does not listen, authenticate, compress or keep sessions.
package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/giverny/giverny/internal/sqlquote"
	"github.com/giverny/giverny/store/engine/chdb"
)

// Config limits what a Handler accepts.
type Config struct {
	MaxQueries        int   // concurrent statements, of which one in four is for those that may write; more wait their turn
	MaxStatementBytes int64 // of a statement sent as the body
}

// Handler is an http.Handler for one engine. It differs from a ClickHouse
// server in one way: a result without rows has no column names.
type Handler struct {
	cfg    Config
	engine *chdb.Engine
	log    *slog.Logger
	hello  []byte        // the answer to helloQuery
	serial atomic.Uint64 // numbers the statements

	slots chan struct{} // one per running statement
	reads chan struct{} // one per running statement that may not write: fewer, so that they keep no write waiting

	control sync.Mutex // guards admin
	admin   *chdb.Session
}

// New returns a Handler. It queries the engine for its name and version.
func New(cfg Config, engine *chdb.Engine, log *slog.Logger) (*Handler, error) {
	if cfg.MaxQueries < 1 || cfg.MaxStatementBytes < 1 {
		return nil, fmt.Errorf("engine interface: MaxQueries (%d) and MaxStatementBytes (%d) must be positive", cfg.MaxQueries, cfg.MaxStatementBytes)
	}
	admin, err := engine.Session()
	if err != nil {
		return nil, err
	}
	h := &Handler{cfg: cfg, engine: engine, log: log, admin: admin, slots: make(chan struct{}, cfg.MaxQueries),
		reads: make(chan struct{}, max(1, cfg.MaxQueries-max(1, cfg.MaxQueries/4)))}
	if h.hello, err = encodeHello(admin); err != nil {
		admin.Close()
		return nil, err
	}
	return h, nil
}

// Close closes the handler's own session. No request may be in progress.
func (h *Handler) Close() { h.admin.Close() }

// ServeHTTP runs the statement of one request. GET /ping answers "Ok." if the
// engine answers.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out := newResponse(w)
	if r.URL.Path == "/ping" {
		err := h.adminExec("SELECT 1")
		if err == nil {
			io.WriteString(out, "Ok.\n")
		}
		out.finish(err)
		return
	}
	req, err := parseRequest(r, h.cfg.MaxStatementBytes)
	if err == nil {
		err = h.run(r.Context(), req, out)
	}
	out.finish(err)
}

func (h *Handler) adminExec(sql string) error {
	h.control.Lock()
	defer h.control.Unlock()
	return h.admin.Exec(sql)
}

func (h *Handler) run(ctx context.Context, req *request, out *response) error {
	if req.sql == helloQuery {
		_, err := out.Write(h.hello)
		return err
	}
	turns := []chan struct{}{h.slots}
	if req.settings["readonly"] != "" {
		turns = []chan struct{}{h.reads, h.slots}
	}
	for _, turn := range turns {
		select {
		case turn <- struct{}{}:
			defer func() { <-turn }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	session, tag, err := h.openSession(req)
	if err != nil {
		return err
	}
	defer session.Close()
	stop := h.killOnCancel(ctx, tag)
	defer stop()

	st := scanStatement(req.sql)
	if st.insertFormat != "" {
		return insert(session, st, req)
	}
	if req.data != nil { // the statement is the text in the URL followed by the body
		rest, err := readStatement(req.data, h.cfg.MaxStatementBytes)
		if err != nil {
			return err
		}
		if rest != "" {
			req.sql += "\n" + rest
			st = scanStatement(req.sql)
		}
	}
	return query(ctx, session, st, req, out)
}

// openSession opens a session for one statement, with the settings and the
// database of the request. The setting log_comment carries the tag by which the
// statement can be killed.
func (h *Handler) openSession(req *request) (session *chdb.Session, tag string, err error) {
	session, err = h.engine.Session()
	if err != nil {
		return nil, "", err
	}
	tag = fmt.Sprintf("giverny-%d", h.serial.Add(1))
	set := "SET log_comment = " + sqlquote.Text(tag)
	for _, name := range slices.Sorted(maps.Keys(req.settings)) {
		set += ", " + sqlquote.Name(name) + " = " + sqlquote.Text(req.settings[name])
	}
	err = session.Exec(set)
	if err == nil && req.database != "" && req.database != "default" {
		err = session.Exec("USE " + sqlquote.Name(req.database))
	}
	if err != nil {
		session.Close()
		return nil, "", err
	}
	return session, tag, nil
}

// killOnCancel kills the tagged statement when ctx ends, repeatedly until stop
// is called, because it may not have started yet. After stop nothing is killed.
func (h *Handler) killOnCancel(ctx context.Context, tag string) (stop func()) {
	done, killed := make(chan struct{}), make(chan struct{})
	unhook := context.AfterFunc(ctx, func() {
		defer close(killed)
		for {
			if err := h.adminExec("KILL QUERY WHERE Settings['log_comment'] = " + sqlquote.Text(tag)); err != nil {
				h.log.Warn("engine: cancelled query not killed", "error", err)
			}
			select {
			case <-done:
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
	return func() {
		close(done)
		if !unhook() {
			<-killed
		}
	}
}

func query(ctx context.Context, session *chdb.Session, st statement, req *request, out *response) error {
	analysis, err := session.Classify(req.sql)
	if err != nil {
		return err
	}
	if analysis.Statements == 0 {
		return syntaxError(session, req.sql)
	}
	if err := st.refuse(analysis); err != nil {
		return err
	}
	job := chdb.Statement{SQL: req.sql, Format: req.format, Params: req.params}
	if req.wholeOnly || !st.streams(analysis, req.format) {
		return session.Query(job, func(chunk []byte) error {
			_, err := out.Write(chunk)
			return err
		})
	}
	return session.Stream(job, func(chunk []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := out.Write(chunk); err != nil {
			return err
		}
		return out.control.Flush()
	})
}

// insert streams the data of INSERT ... FORMAT to the engine. If the data
// breaks off, nothing of the block in progress is stored.
func insert(session *chdb.Session, st statement, req *request) error {
	// With an empty value list instead of the data the text can be parsed.
	whole := st.insertHead + " VALUES"
	analysis, err := session.Classify(whole)
	if err != nil {
		return err
	}
	if analysis.Statements == 0 {
		return syntaxError(session, whole)
	}
	if err := st.refuse(analysis); err != nil {
		return err
	}
	ins, err := session.Insert(chdb.Statement{SQL: st.insertHead, Format: st.insertFormat, Params: req.params})
	if err != nil {
		return err
	}
	data := io.Reader(strings.NewReader(strings.TrimLeft(st.insertData, " \t\r\n")))
	if req.data != nil {
		data = io.MultiReader(data, req.data)
	}
	if err := feed(ins, data); err != nil {
		ins.Cancel()
		return fmt.Errorf("read the data of the insert: %w", err)
	}
	_, err = ins.Commit()
	return err
}

// parameterEscaper escapes the value of a parameter.
var parameterEscaper = strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\n", `\n`)

// syntaxError makes the engine explain why sql does not parse, without running
// it: unclassified text must not run.
func syntaxError(session *chdb.Session, sql string) error {
	explain := chdb.Statement{SQL: "SELECT formatQuery({sql:String})", Format: "Null", Params: map[string]string{"sql": parameterEscaper.Replace(sql)}}
	err := session.Query(explain, func([]byte) error { return nil })
	if exception, ok := errors.AsType[*chdb.Exception](err); ok {
		if text, _, ours := strings.Cut(exception.Text, ": In scope SELECT formatQuery("); ours {
			return &chdb.Exception{Code: exception.Code, Text: text + ". (SYNTAX_ERROR)"}
		}
	}
	if err != nil {
		return err
	}
	return chdb.NewException(62, "SYNTAX_ERROR", "Syntax error: the text is not a single statement")
}

// feed copies data to the insert. It returns an error only if reading data
// fails: errors of the engine are returned by Commit.
func feed(ins *chdb.Insert, data io.Reader) error {
	buffer := make([]byte, 64<<10) // clients in Go send chunks of half of that
	for {
		n, err := data.Read(buffer)
		if _, refused := ins.Write(buffer[:n]); refused != nil || errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
