package httpapi

import (
	"fmt"
	"strings"

	"github.com/ClickHouse/ch-go/proto"

	"github.com/giverny/giverny/store/engine/chdb"
)

// helloQuery is the first query that clickhouse-go/v2 sends on each connection,
// to learn the protocol revision of the results.
const helloQuery = "SELECT displayName(), version(), revision(), timezone()"

// encodeHello prepares the answer to helloQuery. The client reads the answer in
// its own revision, with block info and serialization flags, and everything
// after it in the revision that the answer states. The engine always writes
// Native blocks of revision 0; hence the revision 0, and an answer encoded by
// hand.
func encodeHello(session *chdb.Session) ([]byte, error) {
	var answer string
	ask := chdb.Statement{SQL: "SELECT displayName(), version(), timezone()", Format: "TabSeparated"}
	err := session.Query(ask, func(chunk []byte) error {
		answer = strings.TrimSuffix(string(chunk), "\n")
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("ask the engine for its version: %w", err)
	}
	fields := strings.Split(answer, "\t")
	if len(fields) != 3 {
		return nil, fmt.Errorf("ask the engine for its version: unexpected answer %q", answer)
	}

	var b proto.Buffer
	proto.BlockInfo{BucketNum: -1}.Encode(&b)
	b.PutUVarInt(4) // columns
	b.PutUVarInt(1) // rows
	column := func(name, kind string) {
		b.PutString(name)
		b.PutString(kind)
		b.PutBool(false) // default serialization
	}
	column("displayName()", "String")
	b.PutString(fields[0])
	column("version()", "String")
	b.PutString(fields[1])
	column("revision()", "UInt32")
	b.PutUInt32(0)
	column("timezone()", "String")
	b.PutString(fields[2])
	return b.Buf, nil
}
