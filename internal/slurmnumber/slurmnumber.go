// Package slurmnumber decodes the integers in Slurm's JSON, whose form depends on the API version and the field.
package slurmnumber

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// Number is an integer in any of Slurm's forms: 5, "5", null, or {"set":true,"infinite":false,"number":5}.
type Number struct {
	Value int64
	Set   bool
}

// largest bounds the magnitude of numbers written as floating point: below it, float64 represents every integer.
const largest = 1e15

// UnmarshalJSON accepts all forms; anything else is not set. It returns no error, since one odd field must not make the
// whole job or node unreadable: callers that need the number check Set.
func (n *Number) UnmarshalJSON(text []byte) error {
	*n = Number{}
	text = bytes.TrimSpace(text)
	if len(text) > 0 && text[0] == '{' {
		var object struct {
			Set      *bool       `json:"set"`
			Infinite bool        `json:"infinite"`
			Number   json.Number `json:"number"`
		}
		if err := json.Unmarshal(text, &object); err != nil || object.Infinite || object.Set != nil && !*object.Set {
			return nil
		}
		text = []byte(object.Number)
	}
	plain := strings.Trim(string(text), `"`)
	if v, err := strconv.ParseInt(plain, 10, 64); err == nil {
		*n = Number{v, true}
	} else if f, err := strconv.ParseFloat(plain, 64); err == nil && f >= -largest && f <= largest {
		*n = Number{int64(f), true}
	}
	return nil
}
