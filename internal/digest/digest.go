// Package digest is the one form in which files and settings are identified: "sha256:" and 64 hexadecimal digits.
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

// New starts the digest of bytes that come in parts; Sum ends it.
func New() hash.Hash { return sha256.New() }

// Sum is the digest of what was written to a hash of New.
func Sum(h hash.Hash) string { return prefix + hex.EncodeToString(h.Sum(nil)) }

// JSON is the digest of a value's JSON form.
func JSON(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	return Of(b), nil
}

// Is tells whether a string has the form of a digest.
func Is(s string) bool {
	digits, ok := strings.CutPrefix(s, prefix)
	_, err := hex.DecodeString(digits)
	return ok && err == nil && len(digits) == 2*sha256.Size
}

// Short is enough of a digest to name a file by: its first 16 hexadecimal digits.
func Short(d string) string {
	d = strings.TrimPrefix(d, prefix)
	return d[:min(16, len(d))]
}
