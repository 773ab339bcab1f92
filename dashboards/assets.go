package dashboards

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"
)

// The page as `make web` builds it from dashboards/web/src.
//
//go:embed all:web/dist
var dist embed.FS

// tagBytes is the number of bytes of a file's hash in its entity tag.
const tagBytes = 12

// pageFile is a file of the page, plain and compressed.
type pageFile struct {
	contentType, tag string
	plain, zipped    []byte
}

// pageFiles are the files of the page by path.
var pageFiles = sync.OnceValues(func() (map[string]*pageFile, error) {
	files := map[string]*pageFile{}
	root, err := fs.Sub(dist, "web/dist")
	if err != nil {
		return nil, err
	}
	err = fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		var zipped bytes.Buffer
		z, _ := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
		if _, err = z.Write(content); err == nil {
			err = z.Close()
		}
		sum := sha256.Sum256(content)
		files[name] = &pageFile{contentType: typeOf(name), tag: `"` + hex.EncodeToString(sum[:tagBytes]) + `"`, plain: content, zipped: zipped.Bytes()}
		return err
	})
	return files, err
})

// typeOf returns the content type of a file; not every system knows that of JavaScript.
func typeOf(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	return mime.TypeByExtension(path.Ext(name))
}

// assets serves the files of the page, compressed if the client accepts it. A browser
// revalidates its copy each time, so that a page never talks to a server of another version.
func assets() http.Handler {
	files, err := pageFiles()
	if err != nil {
		panic(err) // the files are embedded above
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := cmp.Or(strings.TrimPrefix(path.Clean(r.URL.Path), "/"), "index.html")
		f := files[name]
		if f == nil {
			http.NotFound(w, r)
			return
		}
		header := w.Header()
		header.Set("Content-Type", f.contentType)
		header.Set("Cache-Control", "no-cache")
		header.Set("ETag", f.tag)
		header.Set("Vary", "Accept-Encoding")
		if r.Header.Get("If-None-Match") == f.tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		content := f.plain
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			header.Set("Content-Encoding", "gzip")
			content = f.zipped
		}
		w.Write(content) // an error means that the client disconnected
	})
}
