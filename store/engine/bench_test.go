//go:build engine || integration

package engine_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/giverny/giverny/store/engine/enginetest"
)

// BenchmarkInsert stores one interval of link rows per operation, acknowledged
// and synced to disk.
func BenchmarkInsert(b *testing.B) {
	for _, links := range []int{1000, 41472, 100000} {
		b.Run(fmt.Sprintf("links=%d", links), func(b *testing.B) {
			conn := enginetest.Connect(b, enginetest.Start(b), "default")
			mustExec(b, conn, `CREATE TABLE t (interval DateTime64(9), link UInt32, fabric LowCardinality(String), stall Float32, rx UInt64, tx UInt64)
				ENGINE = MergeTree ORDER BY (fabric, interval, link)`)
			at := time.Unix(1700000000, 0)
			for b.Loop() {
				at = at.Add(time.Minute)
				batch, err := conn.PrepareBatch(context.Background(), "INSERT INTO t")
				if err != nil {
					b.Fatal(err)
				}
				for link := range links {
					if err := batch.Append(at, uint32(link), "plane0", float32(link%100), uint64(link)*1000, uint64(link)*7); err != nil {
						b.Fatal(err)
					}
				}
				if err := batch.Send(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(links)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

func BenchmarkQuery(b *testing.B) {
	conn := enginetest.Connect(b, enginetest.Start(b), "default")
	for _, bench := range []struct{ name, sql string }{
		{"constant", "SELECT toUInt64(1)"},
		{"sum of 10M", "SELECT sum(number) FROM numbers(10000000)"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			for b.Loop() {
				scalar[uint64](b, conn, bench.sql)
			}
		})
	}
}
