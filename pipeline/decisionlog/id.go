package decisionlog

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"strings"
	"time"
)

// NewID returns a new id of a decision: a UUID of version 7 (RFC 9562), which is random and begins with the time. Ids in the
// order of their time keep the search for a decision quick. Any other unique text works too.
func NewID() string { return newID(time.Now()) }

// panelEnding is the end of the ids of panels.
const panelEnding = ".panel"

// NewPanelID returns a new id of a record of a panel, so that its outcome is known as one of a panel, however late it comes.
func NewPanelID() string { return NewID() + panelEnding }

// IsPanelID reports whether an id is of a record of a panel.
func IsPanelID(id string) bool { return strings.HasSuffix(id, panelEnding) }

func newID(now time.Time) string {
	var b [16]byte
	_, _ = rand.Read(b[6:]) // never fails
	ms := uint64(now.UnixMilli())
	b[0], b[1] = byte(ms>>40), byte(ms>>32)
	binary.BigEndian.PutUint32(b[2:], uint32(ms))
	b[6] = 0x70 | b[6]&0x0f
	b[8] = 0x80 | b[8]&0x3f
	var text [36]byte
	hex.Encode(text[:], b[:4])
	hex.Encode(text[9:], b[4:6])
	hex.Encode(text[14:], b[6:8])
	hex.Encode(text[19:], b[8:10])
	hex.Encode(text[24:], b[10:])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	return string(text[:])
}

// hashOf identifies an id in the indexes of the segments.
func hashOf(id string) uint64 {
	sum := sha256.Sum256([]byte(id))
	return binary.BigEndian.Uint64(sum[:])
}

// kept reports whether sampling with probability p keeps a decision: always the same for one id.
func kept(hash uint64, p float64) bool { return p >= 1 || float64(hash) < p*math.MaxUint64 }
