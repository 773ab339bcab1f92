// Package yamldoc rejects a YAML text with several documents where one is expected: the decoder would silently
// ignore all but the first.
package yamldoc

import (
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// End returns an error if text follows the decoded document; advice says what to do with the rest.
func End(in *yaml.Decoder, advice string) error {
	if err := in.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return fmt.Errorf("it holds more than one YAML document; %s", advice)
	}
	return nil
}
