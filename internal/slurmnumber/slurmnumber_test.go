package slurmnumber_test

import (
	"encoding/json"
	"testing"

	"github.com/giverny/giverny/internal/slurmnumber"
)

func TestForms(t *testing.T) {
	unset := slurmnumber.Number{}
	for text, want := range map[string]slurmnumber.Number{
		`5`: {Value: 5, Set: true}, `"5"`: {Value: 5, Set: true}, `-5`: {Value: -5, Set: true}, `0`: {Set: true}, `5.0e0`: {Value: 5, Set: true},
		`{"set":true,"infinite":false,"number":5}`: {Value: 5, Set: true}, `{"number":5}`: {Value: 5, Set: true}, ` {"set":true,"number":"5"}`: {Value: 5, Set: true},
		`1e15`: {Value: 1e15, Set: true}, `-1e15`: {Value: -1e15, Set: true}, `9223372036854775807`: {Value: 9223372036854775807, Set: true},
		`{"set":false,"number":5}`: unset, `{"set":true,"infinite":true,"number":5}`: unset, `{"set":true}`: unset, `{"set":"yes","number":5}`: unset,
		`null`: unset, `""`: unset, `"NaN"`: unset, `"Inf"`: unset, `1e16`: unset, `-1e16`: unset, `9223372036854775808`: unset, `[5]`: unset, `true`: unset,
	} {
		got := slurmnumber.Number{Value: 9, Set: true} // values of an earlier decode do not remain
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
}
