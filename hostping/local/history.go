package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/internal/atomicfile"
)

// historyFile is the file in the folder of a history.
const historyFile = "history.json"

// ReadHistory reads a host's earlier runs from a folder. Without a file, or with an error, there are none.
func ReadHistory(dir string) (hostping.History, error) {
	fresh := hostping.History{Version: hostping.HistoryVersion}
	path := filepath.Join(dir, historyFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fresh, nil
	}
	if err != nil {
		return fresh, err
	}
	known, err := hostping.ParseHistory(text)
	if err != nil {
		return fresh, fmt.Errorf("%s: %w", path, err)
	}
	return known, nil
}

// WriteHistory writes a host's runs to a folder, which is created if it is missing.
func WriteHistory(dir string, history *hostping.History) error {
	text, err := json.Marshal(history)
	if err == nil {
		err = os.MkdirAll(dir, 0o750)
	}
	if err == nil {
		err = atomicfile.Write(filepath.Join(dir, historyFile), text)
	}
	if err != nil {
		return fmt.Errorf("history of runs: %w", err)
	}
	return nil
}
