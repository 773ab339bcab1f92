package codec_test

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/giverny/giverny/internal/codec"
)

var format = codec.Format{Mark: "TEST", Version: 3, Oldest: 2}

// state has a field of each kind, and one that version 2 lacks.
type state struct {
	Name   string
	Count  uint64
	Since  int64
	Until  int64
	Mean   float64
	Open   bool
	Level  uint8
	Links  []uint32
	Shares []float64
	Later  int64
}

const numLinks = 100

func (s *state) code(c *codec.Coder) {
	c.Text(&s.Name)
	c.Uint(&s.Count, math.MaxUint64)
	c.Int(&s.Since)
	c.IntFrom(&s.Until, s.Since)
	c.Float(&s.Mean)
	c.Bool(&s.Open)
	codec.Small(c, &s.Level, 4)
	codec.Ascending(c, &s.Links, numLinks)
	codec.Each(c, &s.Shares, func(_ int, v *float64) { c.Float(v) })
	if c.Version() > 2 {
		c.Int(&s.Later)
	}
}

func drawState(t *rapid.T) state {
	s := state{
		Name: rapid.String().Draw(t, "name"), Count: rapid.Uint64().Draw(t, "count"),
		Since: rapid.Int64().Draw(t, "since"), Until: rapid.Int64().Draw(t, "until"), Mean: rapid.Float64Range(-1e9, 1e9).Draw(t, "mean"),
		Open: rapid.Bool().Draw(t, "open"), Level: rapid.Uint8Range(0, 3).Draw(t, "level"),
		Shares: rapid.SliceOf(rapid.Float64Range(0, 1)).Draw(t, "shares"), Later: rapid.Int64().Draw(t, "later"),
	}
	for l := range uint32(numLinks) {
		if rapid.IntRange(0, 4).Draw(t, "in") == 0 {
			s.Links = append(s.Links, l)
		}
	}
	return s
}

func TestWhatIsSealedOpens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := drawState(t)
		sealed := format.Seal(before.code)
		after := state{Links: []uint32{99}, Shares: []float64{7}} // to be overwritten
		if err := format.Open(sealed, after.code); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, after, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
		i, bit := rapid.IntRange(0, len(sealed)-1).Draw(t, "byte"), rapid.IntRange(0, 7).Draw(t, "bit")
		if err := format.Open(sealed[:i], new(state).code); !errors.Is(err, codec.ErrDamaged) {
			t.Fatalf("cut to %d of %d bytes: %v", i, len(sealed), err)
		}
		sealed[i] ^= 1 << bit
		if err := format.Open(sealed, new(state).code); !errors.Is(err, codec.ErrDamaged) {
			t.Fatalf("bit %d of byte %d changed: %v", bit, i, err)
		}
	})
}

func TestVersions(t *testing.T) {
	want := state{Name: "lily", Links: []uint32{3, 5}}
	for version, readable := range map[uint8]bool{1: false, 2: true, 3: true, 4: false} {
		sealed := codec.Format{Mark: format.Mark, Version: version}.Seal(want.code)
		var got state
		switch err := format.Open(sealed, got.code); {
		case !readable && !errors.Is(err, codec.ErrVersion):
			t.Errorf("version %d: %v, want it refused", version, err)
		case readable && (err != nil || !cmp.Equal(want, got, cmpopts.EquateEmpty())):
			t.Errorf("version %d: %+v, %v", version, got, err)
		}
	}
	if err := (codec.Format{Mark: "ELSE", Version: 3}).Open(format.Seal(want.code), want.code); !errors.Is(err, codec.ErrDamaged) {
		t.Errorf("of another mark: %v", err)
	}
}

// Open returns the error passed to Fail.
func TestFail(t *testing.T) {
	refused := errors.New("of another fabric")
	err := format.Open(format.Seal(new(state).code), func(c *codec.Coder) {
		var s state
		c.Text(&s.Name)
		c.Fail(refused)
		c.Float(&s.Mean)
	})
	if !errors.Is(err, refused) || errors.Is(err, codec.ErrDamaged) {
		t.Errorf("error %v, want %v alone", err, refused)
	}
}

// Any input with a valid checksum is rejected, or is a state that round-trips.
func FuzzOpen(f *testing.F) {
	f.Add((&state{Name: "lily", Links: []uint32{0, 1, 99}, Shares: []float64{.5}}).body())
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, body []byte) {
		var s, again state
		if err := format.Open(sealBody(body), s.code); err != nil {
			return
		}
		if len(s.Name)+len(s.Links)+8*len(s.Shares) > len(body) {
			t.Fatalf("%d bytes gave a state of %d, %d and %d", len(body), len(s.Name), len(s.Links), len(s.Shares))
		}
		if err := format.Open(format.Seal(s.code), again.code); err != nil || !cmp.Equal(s, again, cmpopts.EquateEmpty()) {
			t.Fatalf("%v: %s", err, cmp.Diff(s, again))
		}
	})
}

// body is a state without its frame.
func (s *state) body() []byte {
	sealed := format.Seal(s.code)
	return sealed[len(format.Mark)+1 : len(sealed)-4]
}

// sealBody frames a body that Seal would not write.
func sealBody(body []byte) []byte {
	sealed := append([]byte(format.Mark), format.Version)
	sealed = append(sealed, body...)
	return binary.LittleEndian.AppendUint32(sealed, crc32.Checksum(sealed, crc32.MakeTable(crc32.Castagnoli)))
}

// A state whose checksum is right, but whose fields are not those of this program, is damaged; what is decoded of it is zero
// from the first error on.
func TestDamageBehindAValidChecksum(t *testing.T) {
	full := state{Name: "lily", Count: 300, Since: -5, Until: 1 << 40, Mean: 2.5, Open: true, Level: 3, Links: []uint32{0, 1, 99}, Shares: []float64{.5, 1}, Later: 300}
	body := full.body()
	for n := range body {
		if err := format.Open(sealBody(body[:n]), new(state).code); !errors.Is(err, codec.ErrDamaged) {
			t.Errorf("cut to %d of %d bytes: %v", n, len(body), err)
		}
	}
	if err := format.Open(sealBody(append(body, 0)), new(state).code); !errors.Is(err, codec.ErrDamaged) {
		t.Errorf("with a byte left over: %v", err)
	}
	var s state
	small := func(c *codec.Coder) { codec.Small(c, &s.Level, 4) }
	ascending := func(c *codec.Coder) { codec.Ascending(c, &s.Links, numLinks) }
	float := func(x float64) []byte { return binary.LittleEndian.AppendUint64(nil, math.Float64bits(x)) }
	for name, c := range map[string]struct {
		code func(c *codec.Coder)
		body []byte
		ok   bool
	}{
		"largest small number": {small, []byte{3}, true},
		"small number":         {small, []byte{4}, false},
		"true":                 {func(c *codec.Coder) { c.Bool(&s.Open) }, []byte{1}, true},
		"neither true nor not": {func(c *codec.Coder) { c.Bool(&s.Open) }, []byte{2}, false},
		"a number":             {func(c *codec.Coder) { c.Float(&s.Mean) }, float(-1e299), true},
		"not a number":         {func(c *codec.Coder) { c.Float(&s.Mean) }, float(math.NaN()), false},
		"infinite":             {func(c *codec.Coder) { c.Float(&s.Mean) }, float(math.Inf(-1)), false},
		"last number":          {ascending, []byte{1, numLinks - 1}, true},
		"number beyond":        {ascending, []byte{1, numLinks}, false},
		"last two numbers":     {ascending, []byte{2, numLinks - 2, 0}, true},
		"second beyond":        {ascending, []byte{2, numLinks - 2, 1}, false},
		"text":                 {func(c *codec.Coder) { c.Text(&s.Name) }, []byte{1, 'a'}, true},
		"longer than the body": {func(c *codec.Coder) { c.Text(&s.Name) }, []byte{2, 'a'}, false},
		"overlong number":      {func(c *codec.Coder) { c.Int(&s.Since) }, []byte{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01}, false},
	} {
		s = full
		var later uint64
		err := format.Open(sealBody(c.body), func(coder *codec.Coder) {
			c.code(coder)
			if !c.ok {
				coder.Uint(&later, math.MaxUint64)
			}
		})
		if c.ok != (err == nil) || !c.ok && (!errors.Is(err, codec.ErrDamaged) || later != 0) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
