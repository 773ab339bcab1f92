package chdb

import (
	"errors"
	"runtime"
	"unsafe"
)

// Insert is an INSERT in progress. End it with Commit or Cancel; until then its
// session accepts no other statement.
type Insert struct {
	lib    *library
	stream unsafe.Pointer // chdb_insert_stream
}

var errInsertFailed = errors.New("the insert has failed; Commit says why")

// Insert starts st.SQL, an INSERT without FORMAT clause and without data, for
// data in st.Format. Each block of up to max_insert_block_size rows (1,048,449
// by default) is stored atomically.
func (s *Session) Insert(st Statement) (*Insert, error) {
	stream := s.call(s.lib.insert, st)
	if stream == nil {
		return nil, errNoResult
	}
	if err := exceptionAt(s.lib.insertError(stream)); err != nil {
		s.lib.insertDestroy(stream)
		return nil, err
	}
	return &Insert{lib: s.lib, stream: stream}, nil
}

// Write appends data. It blocks while the engine cannot keep up. If it fails,
// Commit returns the cause.
func (i *Insert) Write(data []byte) (int, error) {
	if len(data) == 0 {
		return 0, nil
	}
	status := i.lib.insertAppend(i.stream, unsafe.Pointer(&data[0]), uintptr(len(data)))
	runtime.KeepAlive(data)
	if status != 0 {
		return 0, errInsertFailed
	}
	return len(data), nil
}

// Commit ends the data and returns once it is stored, with the number of rows
// written, including those of materialized views.
func (i *Insert) Commit() (rows uint64, err error) {
	defer i.lib.insertDestroy(i.stream)
	result := i.lib.insertDone(i.stream)
	if result == nil {
		return 0, errNoResult
	}
	defer i.lib.resultDestroy(result)
	if err := exceptionAt(i.lib.resultError(result)); err != nil {
		return 0, err
	}
	return i.lib.resultRowsWritten(result), nil
}

// Cancel aborts the insert. Blocks that were complete may already be stored.
func (i *Insert) Cancel() {
	i.lib.insertCancel(i.stream)
	i.lib.insertDestroy(i.stream)
}
