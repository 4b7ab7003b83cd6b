package textfile

import (
	"hash/maphash"
	"strings"
)

// Texts stores many short strings in few large pieces of memory.
type Texts struct {
	held  *MemoryBudget
	piece *strings.Builder
	next  int // size of the next piece in bytes
}

// NewTexts returns an empty store whose memory is counted by held.
func NewTexts(held *MemoryBudget) *Texts { return &Texts{held: held, piece: &strings.Builder{}} }

// headBytes is the size of a string header.
const headBytes = 16

// Keep returns a copy of s, so that the line that contains s can be freed. Its error is that of MemoryBudget.Add.
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

// Names numbers distinct strings from 0, in the order of their first appearance. A name takes about 40 bytes in
// addition to its text, less than half of what a map and a slice take.
type Names struct {
	texts *Texts // nil if the names are not copied
	list  []string
	slots []slot // hash table; its length is a power of two
	seed  maphash.Seed
	near  slot // of no use, so that fetching is not left out
}

// slot is a place in the hash table: the upper half of the hash of a name, and its number+1 in the lower half; 0 where it
// is free. The upper half gives the place where the search for a name begins, and distinguishes most other names, so that
// they need not be read.
type slot uint64

func newSlot(hash uint64, number int) slot { return slot(hash&^(1<<32-1) | uint64(uint32(number+1))) }

func (s slot) number() int           { return int(uint32(s)) - 1 }
func (s slot) fits(hash uint64) bool { return uint64(s)>>32 == hash>>32 }
func (s slot) start(slots int) int   { return int(s>>32) & (slots - 1) }

// NewNames returns an empty set whose memory is counted by held.
func NewNames(held *MemoryBudget) *Names {
	return &Names{texts: NewTexts(held), slots: make([]slot, 8), seed: maphash.MakeSeed()}
}

// NewIndex returns an empty set with room for some names. It keeps the strings that it is given instead of copies, and
// does not count memory.
func NewIndex(room int) *Names {
	size := 8
	for size/4*3 < room {
		size *= 2
	}
	return &Names{slots: make([]slot, size), seed: maphash.MakeSeed()}
}

// slotBytes is the memory per name of the hash table, which is between three eighths and three quarters full.
const slotBytes = 20

// Add returns the number of a name and copies the name if it is new. Its error is that of MemoryBudget.Add.
func (n *Names) Add(name string) (int, error) {
	hash := maphash.String(n.seed, name)
	at, i := n.slot(hash, name)
	if i >= 0 {
		return i, nil
	}
	if n.texts != nil {
		if err := n.texts.held.Add(slotBytes); err != nil {
			return 0, err
		}
		var err error
		if name, err = n.texts.Keep(name); err != nil {
			return 0, err
		}
	}
	n.slots[at] = newSlot(hash, len(n.list))
	n.list = append(n.list, name)
	if len(n.list) > len(n.slots)/4*3 {
		n.grow()
	}
	return len(n.list) - 1, nil
}

// Find returns the number of a name, -1 if it is unknown.
func (n *Names) Find(name string) int {
	_, i := n.slot(maphash.String(n.seed, name), name)
	return i
}

// FindAll finds many names: text(i) is the name whose number becomes numbers[i]. It is faster than Find where there are so
// many names that most are not in the cache of the processor, which then waits for several at a time.
func (n *Names) FindAll(numbers []int32, text func(i int) string) {
	const block = 128
	var hashes [block]uint64
	for first := 0; first < len(numbers); first += block {
		some := numbers[first:min(first+block, len(numbers))]
		for i := range some {
			hashes[i] = maphash.String(n.seed, text(first+i))
		}
		for i := range some {
			some[i] = n.candidate(hashes[i])
		}
		for i, number := range some {
			if number < 0 {
				continue
			}
			if name := text(first + i); n.list[number] != name {
				_, other := n.slot(hashes[i], name) // two names with the same half of a hash
				some[i] = int32(other)
			}
		}
	}
}

// Repeated returns the places of the first string in a list that occurs in it before, and of its first occurrence; -1 if
// all are different.
func Repeated(list []string) (again, first int) {
	const block = 128
	var hashes [block]uint64
	n := NewIndex(len(list))
	n.list = list
	for from := 0; from < len(list); from += block {
		some := list[from:min(from+block, len(list))]
		near := slot(0)
		for i, s := range some {
			hashes[i] = maphash.String(n.seed, s)
			near |= n.slots[slot(hashes[i]).start(len(n.slots))] // fetches several places at a time
		}
		for i, s := range some {
			at, number := n.slot(hashes[i], s)
			if number >= 0 {
				return from + i, number
			}
			n.slots[at] = newSlot(hashes[i], from+i)
		}
		n.near = near
	}
	return -1, -1
}

// candidate returns the number of the first name that may have this hash, -1 if there is none.
func (n *Names) candidate(hash uint64) int32 {
	mask := len(n.slots) - 1
	for at := slot(hash).start(len(n.slots)); n.slots[at] != 0; at = (at + 1) & mask {
		if n.slots[at].fits(hash) {
			return int32(n.slots[at].number())
		}
	}
	return -1
}

// Len is the number of names.
func (n *Names) Len() int { return len(n.list) }

// List returns the names by number. The caller must not change it.
func (n *Names) List() []string { return n.list }

// slot returns the slot of a name, or the free slot for it, and its number or -1.
func (n *Names) slot(hash uint64, name string) (at, number int) {
	mask := len(n.slots) - 1
	at = slot(hash).start(len(n.slots))
	for ; n.slots[at] != 0; at = (at + 1) & mask {
		if s := n.slots[at]; s.fits(hash) && n.list[s.number()] == name {
			return at, s.number()
		}
	}
	return at, -1
}

func (n *Names) grow() {
	slots := make([]slot, 2*len(n.slots))
	for _, s := range n.slots {
		if s == 0 {
			continue
		}
		at := s.start(len(slots))
		for slots[at] != 0 {
			at = (at + 1) & (len(slots) - 1)
		}
		slots[at] = s
	}
	n.slots = slots
}
