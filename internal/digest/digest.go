// Package digest identifies files and settings by digests of one form: "sha256:" and 64 hexadecimal digits.
package digest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"
	"strings"
)

const prefix = "sha256:"

// Of is the digest of bytes.
func Of(b []byte) string {
	sum := sha256.Sum256(b)
	return prefix + hex.EncodeToString(sum[:])
}

// New starts the digest of bytes that arrive in parts; Sum ends it.
func New() hash.Hash { return sha256.New() }

// Sum is the digest of what was written to a hash from New.
func Sum(h hash.Hash) string { return prefix + hex.EncodeToString(h.Sum(nil)) }

// JSON is the digest of the JSON form of a value.
func JSON(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	return Of(b), nil
}

// Is reports whether a string has the form of a digest.
func Is(s string) bool {
	digits, ok := strings.CutPrefix(s, prefix)
	_, err := hex.DecodeString(digits)
	return ok && err == nil && len(digits) == 2*sha256.Size
}

// Short is the part of a digest that is used in file names: its first 16 hexadecimal digits.
func Short(d string) string {
	d = strings.TrimPrefix(d, prefix)
	return d[:min(16, len(d))]
}
