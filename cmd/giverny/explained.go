package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// explained adds advice to an error whose origin cannot give it: errors of opening a
// file, of text that is not JSON or YAML, and of arguments. Errors that already have
// advice, after a semicolon or on further lines, are unchanged.
func explained(cmd *cobra.Command, err error) error {
	text := err.Error()
	if strings.Contains(text, "yaml: unmarshal errors:\n") { // each error on a line of its own
		text = strings.ReplaceAll(text, "\n ", "")
	}
	if once := uniqueLines(text); once != text { // the same error from write and close
		text, err = once, &advised{once, err}
	}
	if strings.ContainsAny(text, ";\n") {
		return err
	}
	if advice := adviceOn(cmd, err, text); advice != "" {
		return &advised{text + "; " + advice, err}
	}
	return err
}

// uniqueLines removes repeated lines.
func uniqueLines(text string) string {
	var lines []string
	seen := map[string]bool{}
	for line := range strings.SplitSeq(text, "\n") {
		if !seen[line] {
			seen[line] = true
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// advised is an error with another text, such as advice.
type advised struct {
	text string
	err  error
}

func (a *advised) Error() string { return a.text }
func (a *advised) Unwrap() error { return a.err }

// ofFlags says of faults in keys of a configuration which flags they are in: segment.min_links is --min-links.
func ofFlags(cmd *cobra.Command, err error) error {
	if err == nil {
		return nil
	}
	lines := strings.Split(err.Error(), "\n")
	for i, line := range lines {
		key, fault, _ := strings.Cut(line, ": ")
		name := strings.ReplaceAll(key[strings.LastIndexByte(key, '.')+1:], "_", "-")
		if cmd.Flags().Lookup(name) != nil {
			lines[i] = "--" + name + " " + fault
		}
	}
	return &advised{strings.Join(lines, "\n"), err}
}

func adviceOn(cmd *cobra.Command, err error, text string) string {
	var path *fs.PathError
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case strings.Contains(text, " arg(s), "):
		return fmt.Sprintf("usage: %s; see %s --help", cmd.UseLine(), cmd.CommandPath())
	case errors.As(err, &path) && path.Path == "-" && errors.Is(err, fs.ErrNotExist):
		return "give /dev/stdin to read standard input"
	case errors.As(err, &path) && errors.Is(err, fs.ErrNotExist):
		return "check the path"
	case errors.As(err, &path) && errors.Is(err, fs.ErrPermission):
		return "run as a user with access, or change the file's permissions"
	case errors.Is(err, syscall.EISDIR) || strings.HasSuffix(text, syscall.EISDIR.Error()):
		return "give a file instead of a folder"
	case strings.Contains(text, "unexpected EOF") && isOfNetwork(err):
		return "the connection was closed unexpectedly: check the log of the other side, and retry"
	case errors.As(err, &syntax) || errors.As(err, &kind) || strings.Contains(" "+text, " yaml: ") || strings.Contains(text, "unexpected EOF"):
		return fmt.Sprintf("the file is damaged or has another format: see %s --help", cmd.CommandPath())
	}
	return ""
}

// isOfNetwork reports whether an error is from a network connection: its EOF is not that of a file.
func isOfNetwork(err error) bool {
	var request *url.Error
	var operation *net.OpError
	return errors.As(err, &request) || errors.As(err, &operation)
}
