package costs

import (
	"crypto/sha256"
	"encoding/binary"
)

// hashed returns the split that each row's id, or its group, gives it.
func (d SplitDraw) hashed(ids, groups []string) []Split {
	kind, keys := "id", ids
	if groups != nil {
		kind, keys = "group", groups
	}
	splits := make([]Split, len(keys))
	for n, key := range keys {
		splits[n] = d.place(splitNumber(d.Seed, kind, key))
	}
	return splits
}

// place returns the split of a number in [0, 1). Validation is at the lower
// end, test at the upper end. A growing share therefore takes rows from
// training only, and a shrinking share returns rows to training only.
func (d SplitDraw) place(u float64) Split {
	switch {
	case u < d.Validation:
		return Val
	case u >= 1-d.Test:
		return Test
	}
	return Train
}

// splitNumber is the number in [0, 1), a multiple of 2^-53, that decides the
// split of an id or a group: the first 53 bits of SHA-256 over the fields "pipe
// split 1", kind and key, each behind its length in 8 bytes, with the seed in 8
// bytes before the key; high bytes first. docs/splits.md has it as a program.
func splitNumber(seed uint64, kind, key string) float64 {
	var text []byte
	field := func(s string) {
		text = binary.BigEndian.AppendUint64(text, uint64(len(s)))
		text = append(text, s...)
	}
	field("pipe split 1")
	field(kind)
	text = binary.BigEndian.AppendUint64(text, seed)
	field(key)
	sum := sha256.Sum256(text)
	return float64(binary.BigEndian.Uint64(sum[:8])>>11) / (1 << 53)
}
