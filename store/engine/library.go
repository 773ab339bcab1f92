package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// LibraryVariable names the environment variable with the path of libchdb.
const LibraryVariable = "GIVERNY_LIBCHDB"

// ErrNoLibrary is wrapped by the error of FindLibrary if libchdb is not found.
var ErrNoLibrary = errors.New("libchdb.so not found")

// FindLibrary returns the path of libchdb.so. An explicit path, or else the
// variable GIVERNY_LIBCHDB, is used without a search; if both are empty it looks
// next to the binary (lib/libchdb.so), in .deps/libchdb of the checkout that the
// binary was built in, of the working directory and its parents, and in the
// user's cache directory (giverny/).
func FindLibrary(explicit string) (string, error) {
	if explicit != "" {
		return named(explicit, "the configured library")
	}
	if path := os.Getenv(LibraryVariable); path != "" {
		return named(path, LibraryVariable)
	}
	candidates := libraryCandidates()
	for _, path := range candidates {
		if isFile(path) {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w; looked for\n  %s\nrun `make deps` (it fetches @chdb/lib-linux-x64-gnu 26.7.3-stable.1 and checks it), set %s, or point store.url at a ClickHouse server",
		ErrNoLibrary, strings.Join(candidates, "\n  "), LibraryVariable)
}

func named(path, source string) (string, error) {
	if !isFile(path) {
		return "", fmt.Errorf("%w: %s names %s, which is not a file; correct it, or leave it empty to search the usual places", ErrNoLibrary, source, path)
	}
	return filepath.Abs(path)
}

func libraryCandidates() []string {
	var paths []string
	if binary, err := os.Executable(); err == nil {
		dir := filepath.Dir(binary)
		paths = append(paths, filepath.Join(dir, "lib", "libchdb.so"), filepath.Join(filepath.Dir(dir), ".deps", "libchdb", "libchdb.so"))
	}
	if dir, err := os.Getwd(); err == nil {
		for {
			paths = append(paths, filepath.Join(dir, ".deps", "libchdb", "libchdb.so"))
			if dir == filepath.Dir(dir) {
				break
			}
			dir = filepath.Dir(dir)
		}
	}
	if cache, err := os.UserCacheDir(); err == nil {
		paths = append(paths, filepath.Join(cache, "giverny", "libchdb.so"))
	}
	return paths
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
