package store

import (
	"testing"
	"time"
)

func TestParseTTL(t *testing.T) {
	for engine, want := range map[string]ttl{
		"MergeTree ORDER BY x SETTINGS index_granularity = 8192":                                               {},
		"MergeTree ORDER BY x TTL stored_at + toIntervalSecond(60) SETTINGS index_granularity = 8192":          {"stored_at + toIntervalSecond(60)", time.Minute},
		"MergeTree ORDER BY x TTL `stored_at` + toIntervalDay(2)":                                              {"`stored_at` + toIntervalDay(2)", 2 * day},
		"MergeTree ORDER BY x TTL stored_at + INTERVAL 3 HOUR SETTINGS a = 1":                                  {"stored_at + INTERVAL 3 HOUR", 3 * time.Hour},
		"MergeTree ORDER BY x\nTTL stored_at + toIntervalWeek(1) DELETE\nSETTINGS a = 1":                       {"stored_at + toIntervalWeek(1) DELETE", 7 * day},
		"MergeTree ORDER BY x TTL time + toIntervalDay(1) SETTINGS a = 1":                                      {"time + toIntervalDay(1)", 0},
		"MergeTree ORDER BY x TTL stored_at + toIntervalDay(1), stored_at + toIntervalDay(9) TO DISK 'cold'":   {"stored_at + toIntervalDay(1), stored_at + toIntervalDay(9) TO DISK 'cold'", 0},
		"MergeTree ORDER BY x TTL stored_at + toIntervalMonth(1) SETTINGS index_granularity = 8192, other = 1": {"stored_at + toIntervalMonth(1)", 0},
	} {
		if got := parseTTL(engine); got != want {
			t.Errorf("%s: %+v, want %+v", engine, got, want)
		}
	}
}

func TestChangeRetention(t *testing.T) {
	none, hour, foreign := ttl{}, ttl{"stored_at + toIntervalHour(1)", time.Hour}, ttl{"time + toIntervalDay(1)", 0}
	for _, c := range []struct {
		has        ttl
		keep       time.Duration
		mayShorten bool
		clause     string
		held       bool
	}{
		{none, 0, false, "", false},
		{none, 0, true, "", false},
		{none, time.Hour, false, "", true},
		{none, time.Hour, true, "MODIFY TTL stored_at + toIntervalSecond(3600)", false},
		{hour, time.Hour, true, "", false},
		{hour, time.Minute, false, "", true},
		{hour, time.Minute, true, "MODIFY TTL stored_at + toIntervalSecond(60)", false},
		{hour, day, false, "MODIFY TTL stored_at + toIntervalSecond(86400)", false},
		{hour, 0, false, "REMOVE TTL", false},
		{foreign, time.Hour, false, "", true},
		{foreign, 0, false, "", true},
		{foreign, 0, true, "REMOVE TTL", false},
		{foreign, time.Hour, true, "MODIFY TTL stored_at + toIntervalSecond(3600)", false},
	} {
		if clause, held := changeRetention(c.has, c.keep, c.mayShorten); clause != c.clause || held != c.held {
			t.Errorf("%+v: got %q, held %v", c, clause, held)
		}
	}
}
