package settings

import (
	"io"
	"reflect"

	"go.yaml.in/yaml/v3"
)

// Dump writes a configuration, a pointer to a struct, as a YAML file that File can
// read. Values are marshalled, so secrets are redacted.
func Dump(w io.Writer, from any) error {
	doc, err := sectionNode(reflect.ValueOf(from).Elem())
	if err != nil {
		return err
	}
	enc := yaml.NewEncoder(w)
	enc.SetIndent(2)
	defer enc.Close()
	return enc.Encode(doc)
}

// Value formats a value as YAML on one line.
func Value(v reflect.Value) (string, error) {
	n, err := valueNode(v, true)
	if err != nil {
		return "", err
	}
	text, err := yaml.Marshal(n)
	return string(text), err
}

func sectionNode(section reflect.Value) (*yaml.Node, error) {
	mapping := &yaml.Node{Kind: yaml.MappingNode}
	for _, f := range Fields(section) {
		value, err := fieldNode(f)
		if err != nil {
			return nil, err
		}
		mapping.Content = append(mapping.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: f.Key}, value)
	}
	return mapping, nil
}

func fieldNode(f Field) (*yaml.Node, error) {
	switch t := f.Value.Type(); {
	case IsSection(t):
		return sectionNode(f.Value)
	case IsSectionList(t):
		list := &yaml.Node{Kind: yaml.SequenceNode}
		for i := range f.Value.Len() {
			element, err := sectionNode(f.Value.Index(i))
			if err != nil {
				return nil, err
			}
			list.Content = append(list.Content, element)
		}
		return list, nil
	}
	return valueNode(f.Value, f.flow)
}

func valueNode(v reflect.Value, flow bool) (*yaml.Node, error) {
	n := &yaml.Node{}
	if err := n.Encode(v.Interface()); err != nil {
		return nil, err
	}
	if flow && n.Kind != yaml.ScalarNode {
		n.Style = yaml.FlowStyle
	}
	return n, nil
}
