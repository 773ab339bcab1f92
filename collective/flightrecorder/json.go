package flightrecorder

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// readJSON converts a JSON dump to the value types of a pickle.
func readJSON(data []byte) (any, error) {
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("byte 0: %d bytes are more than a dump can have (%d)", len(data), MaxBytes)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var root any
	if err := decoder.Decode(&root); errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("byte %d: JSON: %w", decoder.InputOffset(), ErrCut)
	} else if err != nil {
		return nil, fmt.Errorf("byte %d: JSON: %w", decoder.InputOffset(), err)
	}
	if decoder.More() {
		return nil, fmt.Errorf("byte %d: data after the JSON object", decoder.InputOffset())
	}
	return fromJSON(root), nil
}

func fromJSON(v any) any {
	switch v := v.(type) {
	case map[string]any:
		d := &dict{at: make(map[string]any, len(v))}
		for key, x := range v {
			d.at[key] = fromJSON(x)
		}
		return d
	case []any:
		l := &list{items: make([]any, len(v))}
		for i, x := range v {
			l.items[i] = fromJSON(x)
		}
		return l
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64() // out of range: infinity, which no field accepts
		return f
	}
	return v
}
