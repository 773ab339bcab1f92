package chdb

import (
	"errors"
	"runtime"
	"unsafe"
)

// Session is one connection to the engine, with its own settings and current
// database. It runs one statement at a time: callers must serialise their
// calls.
type Session struct {
	lib  *library
	conn *unsafe.Pointer // chdb_connection*, nil once closed
}

// Statement is one SQL statement with the format of its result (for an insert:
// of its data) and the values of its {name:Type} parameters.
type Statement struct {
	SQL    string
	Format string
	Params map[string]string
}

var errNoResult = errors.New("libchdb returned no result: it is out of memory")

// Close ends the session. A second call does nothing.
func (s *Session) Close() {
	if s.conn != nil {
		s.lib.closeConn(s.conn)
		s.conn = nil
	}
}

// Exec runs a statement and discards its result.
func (s *Session) Exec(sql string) error {
	return s.Query(Statement{SQL: sql, Format: "Null"}, func([]byte) error { return nil })
}

// Query runs any statement and passes its result to emit as one chunk, unless
// it is empty. The chunk is valid only during the call.
//
// If the text holds several statements, it runs all of them: see Classify.
func (s *Session) Query(st Statement, emit func(chunk []byte) error) error {
	result := s.call(s.lib.query, st)
	if result == nil {
		return errNoResult
	}
	_, err := s.deliver(result, emit)
	return err
}

// Stream runs a SELECT and passes its result to emit block by block, each
// formatted separately: a format with a header repeats it. The chunk is valid
// only during the call. An error of emit cancels the query and is returned
// unchanged.
func (s *Session) Stream(st Statement, emit func(chunk []byte) error) error {
	stream := s.call(s.lib.streamQuery, st)
	if stream == nil {
		return errNoResult
	}
	defer s.lib.resultDestroy(stream)
	if err := exceptionAt(s.lib.resultError(stream)); err != nil {
		return err
	}
	for {
		block := s.lib.streamFetch(*s.conn, stream)
		if block == nil {
			return errNoResult
		}
		n, err := s.deliver(block, emit)
		if err != nil {
			s.lib.streamCancel(*s.conn, stream)
		}
		if n == 0 || err != nil {
			return err
		}
	}
}

// deliver passes the bytes of a result to emit, frees the result, and returns
// the number of bytes.
func (s *Session) deliver(result unsafe.Pointer, emit func([]byte) error) (int, error) {
	defer s.lib.resultDestroy(result)
	if err := exceptionAt(s.lib.resultError(result)); err != nil {
		return 0, err
	}
	n := int(s.lib.resultLength(result))
	if n == 0 {
		return 0, nil
	}
	return n, emit(unsafe.Slice((*byte)(s.lib.resultBuffer(result)), n))
}

// call marshals the statement for C and calls an entry point.
func (s *Session) call(fn statementFunc, st Statement) unsafe.Pointer {
	var pin runtime.Pinner
	defer pin.Unpin()
	n := len(st.Params)
	names, values := make([]unsafe.Pointer, 0, n), make([]unsafe.Pointer, 0, n)
	nameLens, valueLens := make([]uintptr, 0, n), make([]uintptr, 0, n)
	for name, value := range st.Params {
		text := []byte(name + "\x00" + value + "\x00")
		pin.Pin(&text[0])
		names, nameLens = append(names, unsafe.Pointer(&text[0])), append(nameLens, uintptr(len(name)))
		values, valueLens = append(values, unsafe.Pointer(&text[len(name)+1])), append(valueLens, uintptr(len(value)))
	}
	result := fn(*s.conn, addressOf(st.SQL), uintptr(len(st.SQL)), addressOf(st.Format), uintptr(len(st.Format)),
		unsafe.SliceData(names), unsafe.SliceData(nameLens), unsafe.SliceData(values), unsafe.SliceData(valueLens), uintptr(n))
	runtime.KeepAlive(st)
	return result
}

// addressOf returns a pointer to the bytes of text; the caller keeps text alive.
func addressOf(text string) unsafe.Pointer { return unsafe.Pointer(unsafe.StringData(text)) }

// Class says what lasting state a statement can change.
type Class uint32

// The classes of chdb_query_class.
const (
	ReadOnly Class = iota // SELECT, SHOW, DESCRIBE, EXPLAIN
	Mutating              // INSERT, CREATE, ALTER, DROP within databases
	Global                // functions, users, named collections, the system database
	Control               // SET, USE, SYSTEM, KILL, BACKUP, and anything with INTO OUTFILE
	Unknown               // does not parse
)

// Analysis is what the engine's parser reports about a text without running it.
type Analysis struct {
	Class      Class
	Statements int // 0 if the text does not parse
}

// analysis is the C struct chdb_query_analysis_v1.
type analysis struct{ size, statements, _, class uint32 }

// Classify parses sql with the same parser that runs it.
func (s *Session) Classify(sql string) (Analysis, error) {
	out := analysis{size: uint32(unsafe.Sizeof(analysis{}))}
	status := s.lib.classify(*s.conn, addressOf(sql), uintptr(len(sql)), nil, 0, &out)
	runtime.KeepAlive(sql)
	if status != 0 {
		return Analysis{}, errors.New("libchdb could not classify the statement")
	}
	return Analysis{Class: Class(out.class), Statements: int(out.statements)}, nil
}
