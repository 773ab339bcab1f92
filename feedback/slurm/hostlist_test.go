package slurm

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCompress(t *testing.T) {
	for want, names := range map[string][]string{
		"":                            nil,
		"n1":                          {"n1"},
		"n[1-3,7]":                    {"n7", "n2", "n1", "n3", "n3"},
		"n[9-11]":                     {"n11", "n10", "n9"},
		"nid[00009-00010,00012]":      {"nid00012", "nid00009", "nid00010"},
		"login,n[1-2]":                {"n2", "login", "n1"},
		"n[1-2],n[01-02]":             {"n1", "n01", "n2", "n02"},
		"a1-r2-n[1-2],a1-r3-n1":       {"a1-r2-n2", "a1-r3-n1", "a1-r2-n1"},
		"x12345678901234567890":       {"x12345678901234567890"},
		"gpu-a.example,gpu-b.example": {"gpu-b.example", "gpu-a.example"},
	} {
		if got := compress(names); got != want {
			t.Errorf("%v: %s, want %s", names, got, want)
		}
	}
}

// expand expands a host list with at most one bracket per name, as Slurm does.
func expand(list string) (names []string) {
	for len(list) > 0 {
		end := strings.IndexAny(list, ",[")
		if end < 0 {
			return append(names, list)
		}
		if list[end] == ',' {
			names, list = append(names, list[:end]), list[end+1:]
			continue
		}
		prefix := list[:end]
		inside, rest, _ := strings.Cut(list[end+1:], "]")
		for part := range strings.SplitSeq(inside, ",") {
			from, to, ranged := strings.Cut(part, "-")
			if !ranged {
				to = from
			}
			low, _ := strconv.Atoi(from)
			high, _ := strconv.Atoi(to)
			for n := low; n <= high; n++ {
				text := strconv.Itoa(n)
				names = append(names, prefix+strings.Repeat("0", max(0, len(from)-len(text)))+text)
			}
		}
		list = strings.TrimPrefix(rest, ",")
	}
	return names
}

func TestCompressLosesNoNode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOf(rapid.StringMatching(`[a-c]{1,2}-?[0-9]{0,4}`)).Draw(t, "names")
		want := slices.Compact(slices.Sorted(slices.Values(names)))
		list := compress(names)
		if got := slices.Sorted(slices.Values(expand(list))); !slices.Equal(got, want) {
			t.Fatalf("%v becomes %s, which is %v", want, list, got)
		}
		slices.Reverse(names)
		if again := compress(names); again != list {
			t.Fatalf("%s in another order %s", list, again)
		}
	})
}

// Anything that is not a single node name is rejected.
func TestValidName(t *testing.T) {
	s := &Scheduler{}
	for _, name := range []string{"n1", "nid00012", "gpu-a.example", "9a", "A_b"} {
		if err := s.ValidName(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"", "-n1", "--all", "n1,n2", "n[1-2]", "n1 State=DOWN", "n1\nState=DOWN", "n1\n", "\nn1", "n1=2", "n1;x", "$(x)", "n\x001", "é", ".n", strings.Repeat("n", 300)} {
		if s.ValidName(name) == nil {
			t.Errorf("%q passes", name)
		}
	}
}

func FuzzParseNodes(f *testing.F) {
	f.Add("NodeName=n1 AvailableFeatures=a,b ActiveFeatures=(null) Weight=1 Comment=Weight=9 Reason=x NodeName=n2")
	f.Add("Node n9 not found")
	f.Add("slurm_load_node error: Unable to contact slurm controller (connect failure)")
	f.Fuzz(func(t *testing.T, text string) {
		nodes, gone, strange := parseNodes([]byte(text))
		if len(nodes) == 0 && gone == 0 && strange == "" && strings.TrimSpace(text) != "" {
			t.Errorf("nothing to say of %q", text)
		}
	})
}

func TestParseNodes(t *testing.T) {
	nodes, gone, strange := parseNodes([]byte("NodeName=n1 Arch=x AvailableFeatures=a,b ActiveFeatures=(null) OS=Linux 6 #1 Weight=7 Owner=N/A Comment=Weight=9 NodeName=n5 Reason=ActiveFeatures=x\nNode n9 not found\nslurm error: odd\n"))
	if n := nodes["n1"]; len(nodes) != 1 || n.Weight != 7 || !slices.Equal(n.Available, []string{"a", "b"}) || n.Active != nil || gone != 1 || strange != "slurm error: odd" {
		t.Errorf("%+v, %d gone, %q", nodes, gone, strange)
	}
}
