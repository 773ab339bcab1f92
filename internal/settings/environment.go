package settings

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Environment overlays variables on into, a pointer to a struct. environ is a list of
// KEY=value; with the prefix GIVERNY, the variable of the key kafka.tls.enabled is
// GIVERNY_KAFKA_TLS_ENABLED, that of the first fabric's name GIVERNY_FABRICS_0_NAME.
// Variables named in others are ignored. All errors are joined.
func Environment(into any, prefix string, environ, others []string, moved Moved) error {
	root := reflect.ValueOf(into).Elem()
	var errs []error
	for _, line := range environ {
		name, value, _ := strings.Cut(line, "=")
		rest, ok := strings.CutPrefix(name, prefix+"_")
		if !ok || slices.Contains(others, name) {
			continue
		}
		if known, err := set(root, rest, value); err != nil {
			errs = append(errs, fmt.Errorf("environment variable %s: %w", name, err))
		} else if now := movedVariable(moved, prefix, name); !known && now != "" {
			errs = append(errs, fmt.Errorf("environment variable %s is now %s", name, now))
		} else if !known {
			errs = append(errs, fmt.Errorf("environment variable %s matches no key%s", name, suggestion(name, variables(root, prefix))))
		}
	}
	return errors.Join(errs...)
}

// Variable returns the name of a key's variable.
func Variable(prefix, path string) string {
	return prefix + "_" + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
}

func movedVariable(moved Moved, prefix, name string) string {
	number := element.FindString(name)
	for from, to := range moved {
		if Variable(prefix, from) == element.ReplaceAllString(name, "${1}#${2}") {
			return strings.Replace(Variable(prefix, to), "_#_", number, 1)
		}
	}
	return ""
}

// set resolves a variable's name within a section and decodes the value.
func set(section reflect.Value, name, value string) (known bool, err error) {
	for _, f := range Fields(section) {
		key := strings.ToUpper(f.Key)
		if name != key && !strings.HasPrefix(name, key+"_") {
			continue
		}
		rest := strings.TrimPrefix(strings.TrimPrefix(name, key), "_")
		switch t := f.Value.Type(); {
		case IsSection(t):
			known, err = set(f.Value, rest, value)
		case IsSectionList(t):
			known, err = setElement(f.Value, rest, value)
		case rest == "":
			known, err = true, setValue(f.Value, value)
		}
		if known || err != nil {
			return known, err
		}
	}
	return false, nil
}

// setElement resolves a name such as 0_TOPOLOGY within a list; one element may be added
// at the end.
func setElement(list reflect.Value, name, value string) (known bool, err error) {
	number, rest, _ := strings.Cut(name, "_")
	i, err := strconv.Atoi(number)
	if err != nil || i < 0 || i > list.Len() {
		return false, nil
	}
	if i < list.Len() {
		return set(list.Index(i), rest, value)
	}
	element := reflect.New(list.Type().Elem()).Elem()
	element.Set(newElement(list.Type()))
	if known, err = set(element, rest, value); known {
		list.Set(reflect.Append(list, element))
	}
	return known, err
}

func setValue(v reflect.Value, value string) error {
	if t, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return t.UnmarshalText([]byte(value))
	}
	if v.Kind() == reflect.String {
		v.SetString(value)
		return nil
	}
	if v.Kind() == reflect.Slice && !strings.HasPrefix(value, "[") {
		value = "[" + value + "]"
	}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(value), &doc); err != nil || len(doc.Content) == 0 {
		return fmt.Errorf("%q: want %s", value, wanted(v.Type()))
	}
	return decode(doc.Content[0], v)
}

// variables lists the variables of a section, for suggestions.
func variables(section reflect.Value, prefix string) (list []string) {
	Walk(section, func(path string, f Field) {
		if t := f.Value.Type(); !IsSection(t) && !IsSectionList(t) {
			list = append(list, Variable(prefix, path))
		}
	})
	return list
}
