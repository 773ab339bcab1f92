// Package chdb binds libchdb, the ClickHouse engine as a shared library, at run
// time and without cgo. SQL goes in; formatted bytes or a ClickHouse exception
// come out. It knows nothing of HTTP or processes, nor where to find the
// library.
package chdb

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Engine is a running ClickHouse on one data directory. A process can start
// only one engine, and only once: the library keeps state that cannot be reset.
type Engine struct {
	lib     *library
	path    string
	holding *Session // the engine runs while a session is open
}

// Open loads the library at libraryPath and starts the engine on dataDir with
// the given configuration file. The file is required: without it the engine
// would read ./config.xml or the one in the home directory.
func Open(libraryPath, dataDir, configFile string) (*Engine, error) {
	lib, err := load(libraryPath)
	if err != nil {
		return nil, err
	}
	e := &Engine{lib: lib, path: dataDir}
	e.holding, err = lib.connectTo("--path="+dataDir, "--config-file="+configFile)
	if err != nil {
		return nil, fmt.Errorf("start the engine on %s with %s: %w", dataDir, configFile, err)
	}
	return e, nil
}

// Session opens a session in the database "default" with the settings of the
// default profile. It takes a quarter of a millisecond, so a session per
// statement is affordable.
func (e *Engine) Session() (*Session, error) {
	s, err := e.lib.connectTo("--path=" + e.path)
	if err != nil {
		return nil, fmt.Errorf("open a session: %w", err)
	}
	return s, nil
}

// Version is the version of the library, such as "26.7.3".
func (e *Engine) Version() string { return e.lib.version() }

// Close stops the engine. All sessions must be closed first.
func (e *Engine) Close() { e.holding.Close() }

// library holds the functions of chdb.h (chdb 26.7) that Giverny uses. Every
// pointer is opaque to Go.
type library struct {
	version           func() string
	setSignalHandlers func(enabled int32)
	connect           func(argc int32, argv *unsafe.Pointer) *unsafe.Pointer
	closeConn         func(conn *unsafe.Pointer)
	classify          func(conn, sql unsafe.Pointer, sqlLen uintptr, database unsafe.Pointer, databaseLen uintptr, out *analysis) int32

	query        statementFunc
	streamQuery  statementFunc
	streamFetch  func(conn, stream unsafe.Pointer) unsafe.Pointer
	streamCancel func(conn, stream unsafe.Pointer)

	insert        statementFunc
	insertAppend  func(insert, data unsafe.Pointer, n uintptr) int32
	insertDone    func(insert unsafe.Pointer) unsafe.Pointer
	insertCancel  func(insert unsafe.Pointer)
	insertError   func(insert unsafe.Pointer) unsafe.Pointer
	insertDestroy func(insert unsafe.Pointer)

	resultBuffer      func(result unsafe.Pointer) unsafe.Pointer
	resultLength      func(result unsafe.Pointer) uintptr
	resultError       func(result unsafe.Pointer) unsafe.Pointer
	resultRowsWritten func(result unsafe.Pointer) uint64
	resultDestroy     func(result unsafe.Pointer)
}

// statementFunc is the signature that queries, streams and inserts share: the
// connection, the statement, the format, and the parameters as four arrays.
type statementFunc func(conn, sql unsafe.Pointer, sqlLen uintptr, format unsafe.Pointer, formatLen uintptr,
	names *unsafe.Pointer, nameLens *uintptr, values *unsafe.Pointer, valueLens *uintptr, count uintptr) unsafe.Pointer

func (l *library) symbols() map[string]any {
	return map[string]any{
		"chdb_version":                     &l.version,
		"chdb_set_signal_handlers_enabled": &l.setSignalHandlers,
		"chdb_connect":                     &l.connect,
		"chdb_close_conn":                  &l.closeConn,
		"chdb_classify_query_n":            &l.classify,
		"chdb_query_with_params_n":         &l.query,
		"chdb_stream_query_with_params_n":  &l.streamQuery,
		"chdb_stream_fetch_result":         &l.streamFetch,
		"chdb_stream_cancel_query":         &l.streamCancel,
		"chdb_stream_insert_with_params_n": &l.insert,
		"chdb_stream_append":               &l.insertAppend,
		"chdb_stream_done":                 &l.insertDone,
		"chdb_stream_cancel_insert":        &l.insertCancel,
		"chdb_stream_insert_error":         &l.insertError,
		"chdb_destroy_insert_stream":       &l.insertDestroy,
		"chdb_result_buffer":               &l.resultBuffer,
		"chdb_result_length":               &l.resultLength,
		"chdb_result_error":                &l.resultError,
		"chdb_result_rows_written":         &l.resultRowsWritten,
		"chdb_destroy_query_result":        &l.resultDestroy,
	}
}

// load binds the entry points. The library is never unloaded, and installs no
// signal handlers: those belong to the Go runtime.
func load(path string) (*library, error) {
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, fmt.Errorf("load libchdb from %s: %w", path, err)
	}
	l := &library{}
	for name, fn := range l.symbols() {
		address, err := purego.Dlsym(handle, name)
		if err != nil {
			return nil, fmt.Errorf("%s has no %s: it is not libchdb 26.7 or later; run `make deps`", path, name)
		}
		purego.RegisterFunc(fn, address)
	}
	l.setSignalHandlers(0)
	return l, nil
}

func (l *library) connectTo(args ...string) (*Session, error) {
	var pin runtime.Pinner
	defer pin.Unpin()
	argv := make([]unsafe.Pointer, 0, len(args)+2)
	for _, arg := range append([]string{"chdb"}, args...) {
		text := append([]byte(arg), 0)
		pin.Pin(&text[0])
		argv = append(argv, unsafe.Pointer(&text[0]))
	}
	argc := int32(len(argv))
	argv = append(argv, nil)
	conn := l.connect(argc, &argv[0])
	if conn == nil {
		return nil, fmt.Errorf("libchdb refused %q; its output says why", args)
	}
	return &Session{lib: l, conn: conn}, nil
}
