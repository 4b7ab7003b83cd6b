package session

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// Key is a keyed digest.
type Key [16]byte

// String is the key in hexadecimal digits.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

// Facts are what a request says about its conversation.
type Facts struct {
	Client   string    // name of the caller's key
	Named    string    // value of the configured header; empty: none
	User     string    // field of the request
	Bytes    int       // of the request
	Messages []Message // of the whole conversation, in order
	Loop     bool      // results of tool calls are at the end
}

// Message is what a session has to know about a message.
type Message struct {
	User bool   // it is one of the user
	Raw  []byte // its content: another content is another message
}

// conversation has the digests of a request's conversation.
type conversation struct {
	id     Key   // the same in all turns
	chain  []Key // of the messages up to each one
	ends   []int // bytes of the messages up to each one
	lookup []Key // under which the session may be found, best first
}

// maxProbes bounds the earlier requests of a conversation that are looked for: a caller that adds more messages at once begins
// another session.
const maxProbes = 64

// digester makes keyed digests.
type digester [sha256.Size]byte

func newDigester(key string) digester { return sha256.Sum256([]byte("sessions\x00" + key)) }

// of is the digest of texts. Half of SHA-256 is kept, so no text can be added to one whose digest is known.
func (d *digester) of(texts ...[]byte) (k Key) {
	h := sha256.New()
	h.Write(d[:])
	for _, t := range texts {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(t)))
		h.Write(n[:])
		h.Write(t)
	}
	var sum [sha256.Size]byte
	copy(k[:], h.Sum(sum[:0]))
	return k
}

// word is a short digest of a name.
func (d *digester) word(texts ...[]byte) uint64 {
	k := d.of(texts...)
	return binary.LittleEndian.Uint64(k[:])
}

// conversation returns the digests of a request.
func (d *digester) conversation(f *Facts) conversation {
	c := conversation{chain: make([]Key, len(f.Messages)), ends: make([]int, len(f.Messages))}
	first, before, bytes := -1, Key{}, 0
	for i, m := range f.Messages {
		before = d.of(before[:], m.Raw)
		bytes += len(m.Raw)
		c.chain[i], c.ends[i] = before, bytes
		if first < 0 && m.User {
			first = i
		}
	}
	if first < 0 {
		first = len(f.Messages) - 1
	}
	switch {
	case f.Named != "":
		c.id = d.of([]byte("named"), []byte(f.Client), []byte(f.Named))
		c.lookup = []Key{c.id}
	case first >= 0:
		c.id = d.of([]byte("beginning"), []byte(f.Client), []byte(f.User), c.chain[first][:])
		for i := len(c.chain) - 1; i >= first && len(c.lookup) < maxProbes; i-- {
			c.lookup = append(c.lookup, d.of(c.id[:], c.chain[i][:]))
		}
	}
	return c
}
