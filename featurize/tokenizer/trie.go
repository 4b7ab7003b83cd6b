package tokenizer

import "math/bits"

// trie maps strings to ids and finds those that are prefixes of a text. Its
// edges are in one open-addressed table, so a step usually costs one probe.
// Node 0 is the root.
type trie struct {
	edges []edge  // a power of two, at least twice the number of nodes
	ids   []int32 // by node; -1: no string ends here
}

// edge leads from a node by a byte to the next node. In a used edge, next is
// never 0.
type edge struct {
	from uint64 // node<<8 | byte
	next uint32
}

func newTrie() *trie { return &trie{edges: make([]edge, 64), ids: []int32{-1}} }

// slot is the place of an edge in the table, or the free place for it.
func (t *trie) slot(from uint64) *edge {
	const golden = 0x9e3779b97f4a7c15
	shift := bits.LeadingZeros64(uint64(len(t.edges) - 1))
	for i := from * golden >> shift; ; i++ {
		e := &t.edges[i&uint64(len(t.edges)-1)]
		if e.next == 0 || e.from == from {
			return e
		}
	}
}

// step follows a byte from a node; 0 means that no string continues with it.
func (t *trie) step(node uint32, b byte) uint32 {
	return t.slot(uint64(node)<<8 | uint64(b)).next
}

// insert sets the id of a string; a later id replaces an earlier one.
func (t *trie) insert(s string, id int32) {
	node := uint32(0)
	for i := range len(s) {
		from := uint64(node)<<8 | uint64(s[i])
		e := t.slot(from)
		if e.next == 0 {
			*e = edge{from: from, next: uint32(len(t.ids))}
			t.ids = append(t.ids, -1)
			if 2*len(t.ids) > len(t.edges) {
				t.grow()
			}
			node = uint32(len(t.ids) - 1)
			continue
		}
		node = e.next
	}
	t.ids[node] = id
}

func (t *trie) grow() {
	old := t.edges
	t.edges = make([]edge, 2*len(old))
	for _, e := range old {
		if e.next != 0 {
			*t.slot(e.from) = e
		}
	}
}

// longest returns the id and the length of the longest string that is a prefix
// of a text; id -1: none.
func (t *trie) longest(s string) (id int32, n int) {
	id, node := t.ids[0], uint32(0)
	for i := range len(s) {
		if node = t.step(node, s[i]); node == 0 {
			break
		}
		if t.ids[node] >= 0 {
			id, n = t.ids[node], i+1
		}
	}
	return id, n
}
