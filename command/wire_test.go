package command_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/schema"
)

func sample() schema.Command {
	return schema.Command{ID: "A1.b_c-d", Fabric: "rail<0>", Kind: "test.act", Targets: []string{"gpu-*", "rack/7"}, Arguments: json.RawMessage(`{"size":4096}`),
		Issued: 1767571200000000001, Expires: 1767571260000000000, DryRun: true}
}

func signed(t testing.TB, principal string, c schema.Command) schema.Command {
	t.Helper()
	if err := command.NewSigner(principal, testKey(principal)).Sign(&c); err != nil {
		t.Fatal(err)
	}
	return c
}

// encoded is the JSON of a command as sent and signed.
func encoded(t interface{ Fatalf(string, ...any) }, c schema.Command) []byte {
	text, err := json.Marshal(&c)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return text
}

// decode decodes a command from its JSON as package envelope does.
func decode(text []byte) (c schema.Command, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&c); err != nil {
		return c, err
	}
	if _, err := dec.Token(); err != io.EOF || !utf8.Valid(text) {
		return c, errors.New("more behind it, or no UTF-8")
	}
	return c, command.Check(&c)
}

func ring(t testing.TB) command.Keyring {
	t.Helper()
	r, err := command.NewKeyring(testConfig().Principals)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The encoding is part of the protocol: other programs sign it too.
func TestTheFormOfACommand(t *testing.T) {
	c := sample()
	c.Principal = "operator"
	const want = `{"id":"A1.b_c-d","fabric":"rail\u003c0\u003e","kind":"test.act","targets":["gpu-*","rack/7"],"arguments":{"size":4096},` +
		`"issued":"2026-01-05T00:00:00.000000001Z","expires":"2026-01-05T00:01:00Z","principal":"operator","dry_run":true}`
	if diff := cmp.Diff(want, string(encoded(t, c))); diff != "" {
		t.Error(diff)
	}
	back, err := decode([]byte(want))
	if diff := cmp.Diff(c, back); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// Several keys of a principal are valid at the same time; another principal's key is not.
func TestSignatures(t *testing.T) {
	keys := ring(t)
	c := signed(t, "operator", sample())
	if no := keys.Verify(&c); no != nil {
		t.Errorf("refused: %v", no)
	}
	next := sample()
	if err := command.NewSigner("operator", testKey("operator-next")).Sign(&next); err != nil {
		t.Fatal(err)
	}
	if no := keys.Verify(&next); no != nil {
		t.Errorf("the new key is refused: %v", no)
	}
	stolen := sample()
	if err := command.NewSigner("operator", testKey("guest")).Sign(&stolen); err != nil {
		t.Fatal(err)
	}
	if no := keys.Verify(&stolen); no == nil || no.Reason != command.BadSignature {
		t.Errorf("a guest's signature in the operator's name: %v", no)
	}
	unknown := signed(t, "mallory", sample())
	if no := keys.Verify(&unknown); no == nil || no.Reason != command.UnknownPrincipal {
		t.Errorf("an unknown principal: %v", no)
	}
}

// If any single bit of a signed command is flipped in transit, it is refused, or is the same command in another
// encoding.
func TestEveryFlippedBitIsRefused(t *testing.T) {
	keys := ring(t)
	check := func(t interface{ Fatalf(string, ...any) }, sent schema.Command, text []byte, bit int) {
		text[bit/8] ^= 1 << (bit % 8)
		defer func() { text[bit/8] ^= 1 << (bit % 8) }()
		c, err := decode(text)
		if err == nil && keys.Verify(&c) == nil && !bytes.Equal(encoded(t, c), encoded(t, sent)) {
			t.Fatalf("bit %d flipped, and still valid: %s", bit, text)
		}
	}
	sent := signed(t, "operator", sample())
	text := encoded(t, sent)
	for bit := range 8 * len(text) {
		check(t, sent, text, bit)
	}
	rapid.Check(t, func(t *rapid.T) {
		c := randomCommand(t)
		if err := command.NewSigner("operator", testKey("operator")).Sign(&c); err != nil {
			t.Fatalf("%v", err)
		}
		text := encoded(t, c)
		back, err := decode(text)
		if err != nil || keys.Verify(&back) != nil || !cmp.Equal(c, back) {
			t.Fatalf("%s does not come back: %v, %v", text, err, keys.Verify(&back))
		}
		for range 50 {
			check(t, c, text, rapid.IntRange(0, 8*len(text)-1).Draw(t, "bit"))
		}
	})
}

// No field of a command can be changed, not even by one bit of its value.
func TestEveryChangedFieldIsRefused(t *testing.T) {
	keys := ring(t)
	for name, change := range map[string]func(*schema.Command){
		"id": func(c *schema.Command) { c.ID = "B1.b_c-d" }, "fabric": func(c *schema.Command) { c.Fabric = "rail<1>" },
		"kind": func(c *schema.Command) { c.Kind = "test.acu" }, "targets": func(c *schema.Command) { c.Targets[0] = "gpu-?" },
		"fewer targets": func(c *schema.Command) { c.Targets = c.Targets[:1] }, "arguments": func(c *schema.Command) { c.Arguments = json.RawMessage(`{"size":4097}`) },
		"no arguments": func(c *schema.Command) { c.Arguments = nil }, "issued": func(c *schema.Command) { c.Issued++ }, "expires": func(c *schema.Command) { c.Expires++ },
		"principal": func(c *schema.Command) { c.Principal = "guest" }, "dry run": func(c *schema.Command) { c.DryRun = false }, "signature": func(c *schema.Command) { c.Signature[63] ^= 1 },
		"a longer signature": func(c *schema.Command) { c.Signature = append(c.Signature, 0) },
	} {
		c := signed(t, "operator", sample())
		change(&c)
		if keys.Verify(&c) == nil {
			t.Errorf("%s changed, and still valid", name)
		}
	}
	spaced := signed(t, "operator", sample())
	spaced.Arguments = json.RawMessage(`{ "size" : 4096 }`)
	if no := keys.Verify(&spaced); no != nil {
		t.Errorf("the same arguments, written otherwise: %v", no)
	}
}

func randomCommand(t *rapid.T) schema.Command {
	name := rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._-]{0,20}`)
	issued := rapid.Int64Range(1, 1<<62).Draw(t, "issued")
	c := schema.Command{ID: name.Draw(t, "id"), Fabric: rapid.StringN(1, 20, 100).Draw(t, "fabric"), Kind: name.Draw(t, "kind"),
		Targets: rapid.SliceOfN(rapid.StringMatching(`[a-z0-9*?/-]{1,20}`), 1, 4).Draw(t, "targets"), Issued: schema.Instant(issued),
		Expires: schema.Instant(issued + rapid.Int64Range(1, 1<<40).Draw(t, "validity")), DryRun: rapid.Bool().Draw(t, "dry")}
	if rapid.Bool().Draw(t, "with arguments") {
		text, err := json.Marshal(rapid.MapOf(rapid.String(), rapid.Int()).Draw(t, "arguments"))
		if err != nil {
			t.Fatalf("%v", err)
		}
		c.Arguments = text
	}
	return c
}

func TestCheckRefuses(t *testing.T) {
	good := string(encoded(t, signed(t, "operator", sample())))
	for name, bad := range map[string]string{
		"id":              strings.Replace(good, `A1.b_c-d`, `../../x`, 1),
		"no id":           strings.Replace(good, `A1.b_c-d`, ``, 1),
		"a long id":       strings.Replace(good, `A1.b_c-d`, strings.Repeat("x", command.MaxIDBytes+1), 1),
		"kind":            strings.Replace(good, `test.act`, `test act`, 1),
		"principal":       strings.Replace(good, `"operator"`, `""`, 1),
		"no targets":      strings.Replace(good, `["gpu-*","rack/7"]`, `[]`, 1),
		"many targets":    strings.Replace(good, `"gpu-*"`, `"gpu-*"`+strings.Repeat(`,"a"`, command.MaxTargets), 1),
		"a bad pattern":   strings.Replace(good, `gpu-*`, `gpu-[`, 1),
		"an empty target": strings.Replace(good, `gpu-*`, ``, 1),
		"no fabric":       strings.Replace(good, `rail\u003c0\u003e`, ``, 1),
		"arguments":       strings.Replace(good, `{"size":4096}`, `[4096]`, 1),
		"long arguments":  strings.Replace(good, `{"size":4096}`, `{"size":"`+strings.Repeat("x", command.MaxArgumentBytes)+`"}`, 1),
		"no time":         strings.Replace(good, `2026-01-05T00:00:00.000000001Z`, ``, 1),
		"before it began": strings.Replace(good, `2026-01-05T00:01:00Z`, `2026-01-04T00:01:00Z`, 1),
	} {
		if c, err := decode([]byte(bad)); err == nil || bad == good {
			t.Errorf("%s: taken as %+v", name, c)
		}
	}
	if _, err := decode([]byte(good)); err != nil {
		t.Errorf("the unchanged one: %v", err)
	}
}

// Each size may be as large as its limit, and not larger by one.
func TestSizesAtTheirLimits(t *testing.T) {
	text := func(n int) string { return strings.Repeat("x", n) }
	const maxName = 160
	commands := map[string]struct {
		limit int
		set   func(c *schema.Command, n int)
	}{
		"id":        {command.MaxIDBytes, func(c *schema.Command, n int) { c.ID = text(n) }},
		"fabric":    {maxName, func(c *schema.Command, n int) { c.Fabric = text(n) }},
		"kind":      {maxName, func(c *schema.Command, n int) { c.Kind = text(n) }},
		"principal": {maxName, func(c *schema.Command, n int) { c.Principal = text(n) }},
		"target":    {maxName, func(c *schema.Command, n int) { c.Targets = []string{"gpu-*", text(n)} }},
		"targets":   {command.MaxTargets, func(c *schema.Command, n int) { c.Targets = slices.Repeat([]string{"gpu-*"}, n) }},
		"arguments": {command.MaxArgumentBytes, func(c *schema.Command, n int) { c.Arguments = json.RawMessage("{" + text(n-2) + "}") }},
	}
	for name, field := range commands {
		for over := range 2 {
			c := signed(t, "operator", sample())
			field.set(&c, field.limit+over)
			if err := command.Check(&c); (err == nil) != (over == 0) || err != nil && !strings.Contains(err.Error(), fmt.Sprint(field.limit)) && name != "kind" && name != "principal" && name != "target" {
				t.Errorf("%s of %d, limit %d: %v", name, field.limit+over, field.limit, err)
			}
		}
	}
	c := signed(t, "operator", sample())
	if c.Expires = c.Issued; command.Check(&c) == nil {
		t.Error("a command that expires when it is issued is taken")
	}
	if c = signed(t, "operator", sample()); command.Check(&c) != nil {
		t.Error("the sample is refused")
	}
	if c.Fabric = "\xff"; command.Check(&c) == nil {
		t.Error("a fabric that is not UTF-8 is taken")
	}
}

// The canonical form of accepted commands is stable, and its signature is valid for any encoding.
func FuzzSignature(f *testing.F) {
	f.Add(encoded(f, signed(f, "operator", sample())))
	f.Add([]byte(`{ "ID": "a", "fabric":"f", "kind":"k", "targets":["*"], "issued":"2026-01-05T00:00:00+01:00", "expires":"2026-01-06T00:00:00Z", "arguments":{"a": "<"}}`))
	keys := ring(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := decode(text)
		if err != nil {
			return
		}
		c = signed(t, "operator", c)
		first := encoded(t, c)
		back, err := decode(first)
		if err != nil || keys.Verify(&back) != nil || !bytes.Equal(encoded(t, back), first) {
			t.Errorf("%s comes back as %+v: %v, %v", first, back, err, keys.Verify(&back))
		}
	})
}
