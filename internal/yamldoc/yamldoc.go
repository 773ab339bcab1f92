// Package yamldoc refuses a YAML text of several documents where one is wanted: the decoder reads the first and
// would pass over the others in silence.
package yamldoc

import (
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// End gives an error if the text goes on after the document that was decoded; advice says what to do with the rest.
func End(in *yaml.Decoder, advice string) error {
	if err := in.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return fmt.Errorf("it holds more than one YAML document; %s", advice)
	}
	return nil
}
