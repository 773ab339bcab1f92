package envelope

// interner deduplicates the strings of payloads, which outlive the decoder's memory.
type interner struct {
	index   map[string]uint32 // into entries
	entries []interned
	round   uint32 // number of calls of distinct
}

type interned struct {
	text string
	seen uint32 // the last round of distinct with it
}

// maxInterned limits the memory of names that change all the time.
const maxInterned = 1 << 18

// bound drops all strings if there are too many. Call it between two payloads.
func (n *interner) bound() {
	if len(n.entries) > maxInterned {
		*n = interner{}
	}
}

func (n *interner) text(b []byte) string { return n.entry(b).text }

// distinct appends the texts of a column to into and rejects duplicates.
func (n *interner) distinct(column textColumn, into []string) ([]string, error) {
	n.round++
	for i := range column.len() {
		e := n.entry(column.at(i))
		if e.seen == n.round {
			return into, refuse(BadRows, "%q is duplicated in a dictionary", e.text)
		}
		e.seen = n.round
		into = append(into, e.text)
	}
	return into, nil
}

func (n *interner) entry(b []byte) *interned {
	i, ok := n.index[string(b)]
	if !ok {
		if n.index == nil {
			n.index = make(map[string]uint32)
		}
		i = uint32(len(n.entries))
		s := string(b)
		n.index[s] = i
		n.entries = append(n.entries, interned{text: s})
	}
	return &n.entries[i]
}
