package textfile

import (
	"hash/maphash"
	"strings"
)

// Texts stores many short strings in few large pieces of memory.
type Texts struct {
	held  *Held
	piece *strings.Builder
	next  int // size of the next piece in bytes
}

// NewTexts returns an empty store whose memory is counted by held.
func NewTexts(held *Held) *Texts { return &Texts{held: held, piece: &strings.Builder{}} }

// headBytes is the size of a string header.
const headBytes = 16

// Keep returns a copy of s, so that the line that contains s can be freed. Its error is that of Held.Add.
func (t *Texts) Keep(s string) (string, error) {
	if err := t.held.Add(int64(len(s)) + headBytes); err != nil {
		return "", err
	}
	const most, whole = 1 << 16, 1 << 12 // largest piece, and longest string that shares a piece
	if len(s) > whole {
		return strings.Clone(s), nil
	}
	from := t.piece.Len()
	if from+len(s) > t.piece.Cap() { // the first piece is small: each of many columns may have a store
		t.piece, from = &strings.Builder{}, 0
		t.next = min(max(2*t.next, 256, len(s)), most)
		t.piece.Grow(t.next)
	}
	t.piece.WriteString(s) // within its capacity, so earlier strings stay valid
	return t.piece.String()[from:], nil
}

// Names numbers distinct strings from 0, in the order of their first appearance. A name takes about 30 bytes in
// addition to its text, a third of what a map and a slice take.
type Names struct {
	texts *Texts
	list  []string
	slots []int32 // hash table of numbers+1, 0 where free; its length is a power of two
	seed  maphash.Seed
}

// NewNames returns an empty set whose memory is counted by held.
func NewNames(held *Held) *Names {
	return &Names{texts: NewTexts(held), slots: make([]int32, 8), seed: maphash.MakeSeed()}
}

// slotBytes is the memory per name of the hash table, which is between three eighths and three quarters full.
const slotBytes = 12

// Add returns the number of a name and copies the name if it is new. Its error is that of Held.Add.
func (n *Names) Add(name string) (int, error) {
	at, i := n.slot(name)
	if i >= 0 {
		return i, nil
	}
	if err := n.texts.held.Add(slotBytes); err != nil {
		return 0, err
	}
	kept, err := n.texts.Keep(name)
	if err != nil {
		return 0, err
	}
	n.list = append(n.list, kept)
	n.slots[at] = int32(len(n.list))
	if len(n.list) > len(n.slots)/4*3 {
		n.grow()
	}
	return len(n.list) - 1, nil
}

// Find returns the number of a name, -1 if it is unknown.
func (n *Names) Find(name string) int {
	_, i := n.slot(name)
	return i
}

// Len is the number of names.
func (n *Names) Len() int { return len(n.list) }

// List returns the names by number. The caller must not change it.
func (n *Names) List() []string { return n.list }

// slot returns the slot of a name, or the free slot for it, and its number or -1.
func (n *Names) slot(name string) (at, number int) {
	mask := len(n.slots) - 1
	at = int(maphash.String(n.seed, name)) & mask
	for ; n.slots[at] != 0; at = (at + 1) & mask {
		if i := int(n.slots[at]) - 1; n.list[i] == name {
			return at, i
		}
	}
	return at, -1
}

func (n *Names) grow() {
	n.slots = make([]int32, 2*len(n.slots))
	for i, name := range n.list {
		at, _ := n.slot(name)
		n.slots[at] = int32(i + 1)
	}
}
