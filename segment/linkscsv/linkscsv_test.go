package linkscsv_test

import (
	"math"
	"strings"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/linkscsv"
	"github.com/giverny/giverny/topology"
)

func graph(t testing.TB, spec string) *topology.Graph {
	t.Helper()
	g, err := topology.Parse("test", spec)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestRead(t *testing.T) {
	g := graph(t, "torus:4x5x6")
	for name, text := range map[string]string{
		"by number":     "link,credit,inq\n0,1.5,\n7,nan,200\n359,0,-3\n",
		"by coordinate": "x,y,z,inq_stall,credit_stall\n0.5,0,0,,1.5\n2,0.5,0,200,inf\n3,4,5.5,-3,0\n",
		"carelessly":    "\ufeffLink , Credit,INQ\r\n 359,0, -3\r\n7,,200\r\n0, 1.5 , \r\n",
	} {
		snap, err := linkscsv.Read(strings.NewReader(text), g)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		credit, inq := snap.Find(schema.CreditStall), snap.Find(schema.InqStall)
		if credit.Count != 2 || !credit.Valid.Has(0) || credit.Values[0] != 1.5 || !credit.Valid.Has(359) || credit.Values[359] != 0 {
			t.Errorf("%s: credit stall was read wrong", name)
		}
		if inq.Count != 2 || inq.Values[7] != 200 || inq.Values[359] != -3 || inq.Valid.Has(0) {
			t.Errorf("%s: inq stall was read wrong", name)
		}
		if snap.Links != 360 || snap.GraphVersion != g.Version() || snap.Samples != 4 {
			t.Errorf("%s: snapshot of %d links, %d samples", name, snap.Links, snap.Samples)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	torus, tree := graph(t, "torus:4x4x4"), graph(t, "fattree:k=4")
	mesh := graph(t, "mesh:4x4")
	for _, c := range []struct {
		g          *topology.Graph
		text, want string
	}{
		{torus, "", "empty"},
		{torus, "credit\n1\n", "which link"},
		{torus, "link\n1\n", "no metric"},
		{torus, "link,x,y,z,credit\n", "both"},
		{torus, "x,y,credit\n", "3 dimensions"},
		{torus, "link,credit,credit_stall\n", "two columns"},
		{torus, "link,credit,credit\n", "twice"},
		{torus, "link,speed\n", "neither"},
		{tree, "x,y,z,credit\n", "torus"},
		{torus, "link,credit\n192,1\n", "line 2: link"},
		{torus, "link,credit\n-1,1\n", "line 2: link"},
		{torus, "link,credit\n1,1\n1,2\n", "line 3: link 1 has a row"},
		{torus, "link,credit\n1,high\n", "not a number"},
		{torus, "link,credit\n1\n", "wrong number of fields"},
		{torus, "x,y,z,credit\n0,0,0,1\n", "a switch"},
		{torus, "x,y,z,credit\n0.5,0.5,0,1\n", "two coordinates"},
		{torus, "x,y,z,credit\n0.25,0,0,1\n", "multiple of 0.5"},
		{torus, "x,y,z,credit\n4.5,0,0,1\n", "less than 4"},
		{torus, "x,y,z,credit\nnan,0,0,1\n", "multiple of 0.5"},
		{mesh, "x,y,credit\n3.5,0,1\n", "mesh ends"},
	} {
		if _, err := linkscsv.Read(strings.NewReader(c.text), c.g); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want one with %q", c.text, err, c.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	g, err := topology.Parse("test", "torus:3x3x3")
	if err != nil {
		f.Fatal(err)
	}
	f.Add("link,credit,inq\n0,1.5,\n7,nan,200\n")
	f.Add("x,y,z,inq_stall\n0.5,0,0,1e99\n")
	f.Fuzz(func(t *testing.T, text string) {
		snap, err := linkscsv.Read(strings.NewReader(text), g)
		if err != nil {
			return
		}
		for _, s := range snap.Series {
			for i, v := range s.Values {
				if s.Valid.Has(i) && (math.IsNaN(float64(v)) || math.IsInf(float64(v), 0)) {
					t.Fatalf("link %d of %s is %v and said to be measured", i, s.Metric, v)
				}
			}
		}
	})
}
