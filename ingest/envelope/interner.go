package envelope

// interner makes the strings of payloads outlive the decoder's memory, each once.
type interner struct {
	index   map[string]uint32 // into entries
	entries []interned
	round   uint32 // of distinct
}

type interned struct {
	text string
	seen uint32 // the last round of distinct that met it
}

// maxInterned bounds what names that change all the time can pile up.
const maxInterned = 1 << 18

// bound forgets all where there are too many. It is for between two payloads.
func (n *interner) bound() {
	if len(n.entries) > maxInterned {
		*n = interner{}
	}
}

func (n *interner) text(b []byte) string { return n.entry(b).text }

// distinct appends the texts of a column to into and refuses a duplicate.
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
