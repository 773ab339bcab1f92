package pattern

import (
	"strings"
	"testing"
)

func FuzzReadCalls(f *testing.F) {
	f.Add(header + "0,0,put,1,4,0\n1,1,poll,,,0\n")
	f.Add(header + "0,0,barrier,,,\n3,3,compute,,9,\n0,0,get,3,4,1\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ReadCalls(strings.NewReader(text), "f.csv")
		if err == nil && len(p.Processes) == 0 {
			t.Error("a program without processes")
		}
	})
}

func FuzzReadYAML(f *testing.F) {
	f.Add("processes: 2\nprograms:\n - on: all\n   calls: [barrier, {put: {to: ^1, bytes: 4}}, {repeat: {times: 2, calls: [{compute: 5}]}}]\n")
	f.Add("pattern: ring:bytes=4\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ReadYAML(strings.NewReader(text), "f.yaml", 4)
		if err == nil && len(p.Processes) == 0 {
			t.Error("a program without processes")
		}
	})
}

func FuzzReadPieces(f *testing.F) {
	f.Add("from,to,bytes\n0,1,4KiB\n")
	f.Fuzz(func(t *testing.T, text string) {
		pieces, err := ReadPieces(strings.NewReader(text), "f.csv")
		for _, p := range pieces {
			if err == nil && (p.Bytes < 0 || p.From < 0 || p.To < 0) {
				t.Errorf("%+v", p)
			}
		}
	})
}
