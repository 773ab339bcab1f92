package schema

import "github.com/apache/arrow/go/v15/arrow"

// The Arrow schemas of the payloads in Kafka. A counter batch's schema depends
// on its columns; the others are fixed.

// Keys of the schema metadata of a counter batch.
const (
	MetaFabric   = "giverny.fabric"
	MetaSource   = "giverny.source"
	MetaAgent    = "giverny.agent"
	MetaSequence = "giverny.sequence"
	MetaEpoch    = "giverny.epoch"
	MetaInterval = "giverny.interval_ns"
)

// Names of the first columns of every counter batch, in this order.
const (
	ColumnTime   = "time"   // int64, ns UTC
	ColumnDevice = "device" // dictionary<uint32, utf8>
	ColumnPort   = "port"   // dictionary<uint32, utf8>
)

var dictionaryText = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint32, ValueType: arrow.BinaryTypes.String}

// CounterBatchArrow is the Arrow schema of a counter batch: time, device, port,
// then a nullable uint64 column per counter, under the counter's name.
func CounterBatchArrow(b *CounterBatch, meta arrow.Metadata) *arrow.Schema {
	fields := make([]arrow.Field, 0, 3+len(b.Columns))
	fields = append(fields,
		arrow.Field{Name: ColumnTime, Type: arrow.PrimitiveTypes.Int64},
		arrow.Field{Name: ColumnDevice, Type: dictionaryText},
		arrow.Field{Name: ColumnPort, Type: dictionaryText})
	for _, c := range b.Columns {
		fields = append(fields, arrow.Field{Name: c.Name, Type: arrow.PrimitiveTypes.Uint64, Nullable: true})
	}
	return arrow.NewSchema(fields, &meta)
}

// EventArrow is the Arrow schema of events.
var EventArrow = arrow.NewSchema([]arrow.Field{
	{Name: "time", Type: arrow.PrimitiveTypes.Int64},
	{Name: "fabric", Type: arrow.BinaryTypes.String},
	{Name: "kind", Type: arrow.BinaryTypes.String},
	{Name: "device", Type: arrow.BinaryTypes.String},
	{Name: "port", Type: arrow.BinaryTypes.String},
	{Name: "region_id", Type: arrow.PrimitiveTypes.Uint64},
	{Name: "job_id", Type: arrow.BinaryTypes.String},
	{Name: "detail", Type: arrow.BinaryTypes.String},
}, nil)

// RegionArrow is the Arrow schema of the regions of one fabric and interval.
var RegionArrow = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Uint64},
	{Name: "metric", Type: arrow.BinaryTypes.String},
	{Name: "severity", Type: arrow.BinaryTypes.String},
	{Name: "mean", Type: arrow.PrimitiveTypes.Float64},
	{Name: "max", Type: arrow.PrimitiveTypes.Float64},
	{Name: "name", Type: arrow.BinaryTypes.String},
	{Name: "age_intervals", Type: arrow.PrimitiveTypes.Int64},
	{Name: "birth_ns", Type: arrow.PrimitiveTypes.Int64},
	{Name: "links", Type: arrow.ListOfNonNullable(arrow.PrimitiveTypes.Uint32)},
	{Name: "box_min", Type: arrow.ListOfNonNullable(arrow.PrimitiveTypes.Int32)},
	{Name: "box_max", Type: arrow.ListOfNonNullable(arrow.PrimitiveTypes.Int32)},
	{Name: "growth_links", Type: arrow.PrimitiveTypes.Int64},
	{Name: "trend_percent", Type: arrow.PrimitiveTypes.Float64},
	{Name: "odds_next", Type: arrow.ListOfNonNullable(arrow.PrimitiveTypes.Float64)},  // by State; empty: no forecast
	{Name: "odds_later", Type: arrow.ListOfNonNullable(arrow.PrimitiveTypes.Float64)}, // likewise
	{Name: "root_device", Type: arrow.BinaryTypes.String},                             // empty: no root
	{Name: "root_port", Type: arrow.BinaryTypes.String},
	{Name: "root_link", Type: arrow.PrimitiveTypes.Uint32}, // 4294967295: unknown
	{Name: "root_peer", Type: arrow.BinaryTypes.String},
	{Name: "root_kind", Type: arrow.BinaryTypes.String},
	{Name: "unread", Type: arrow.PrimitiveTypes.Uint32}, // links without readings
}, nil)

// OlderRegionArrows are RegionArrow from before regions had roots, before roots had a peer and a kind, and before regions had
// unread links.
var OlderRegionArrows = [3]*arrow.Schema{arrow.NewSchema(RegionArrow.Fields()[:15], nil), arrow.NewSchema(RegionArrow.Fields()[:18], nil), arrow.NewSchema(RegionArrow.Fields()[:20], nil)}
