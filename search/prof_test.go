package search_test

import (
	"github.com/giverny/giverny/search"
	"github.com/giverny/giverny/search/simulated"
	"testing"
)

func BenchmarkF(b *testing.B) {
	for i := 0; i < b.N; i++ {
		play(b, "F", search.Lift, 1800, uint64(i+1), simulated.Flakiness{})
	}
}
