package access

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Secrets are texts that must not appear in logs: keys of callers and of experts. No message of the server contains them,
// but messages of a library or of a service might, so everything that is logged passes through [Secrets.Writer].
//
// Its methods are safe for concurrent use.
type Secrets struct {
	lock      sync.Mutex
	groups    map[string][]string
	spellings atomic.Pointer[[][]byte]
}

// minSecret is the length from which a text is hidden. Shorter ones may be parts of ordinary words.
const minSecret = 8

// Set replaces the secrets of a group, such as callers or experts. It does nothing on a nil *Secrets.
func (s *Secrets) Set(group string, secrets []string) {
	if s == nil {
		return
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.groups == nil {
		s.groups = map[string][]string{}
	}
	s.groups[group] = secrets
	var list [][]byte
	for _, secrets := range s.groups {
		for _, secret := range secrets {
			if len(secret) < minSecret {
				continue
			}
			for _, spelling := range spellingsOf(secret) {
				list = append(list, []byte(spelling))
			}
		}
	}
	slices.SortFunc(list, func(a, b []byte) int { return len(b) - len(a) }) // the longest first, because a secret may be part of another
	s.spellings.Store(&list)
}

// spellingsOf returns the encodings in which a message may contain a secret.
func spellingsOf(secret string) []string {
	quoted, _ := json.Marshal(secret) // a string always marshals
	escaped := strings.Trim(string(quoted), `"`)
	all := []string{
		secret, escaped, url.QueryEscape(secret), url.PathEscape(secret), base64.StdEncoding.EncodeToString([]byte(secret)),
		base64.RawURLEncoding.EncodeToString([]byte(secret)),
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// hide replaces the secrets in a text with [key].
func (s *Secrets) hide(text []byte) []byte {
	list := s.spellings.Load()
	if list == nil {
		return text
	}
	for _, secret := range *list {
		if bytes.Contains(text, secret) {
			text = bytes.ReplaceAll(text, secret, []byte("[key]"))
		}
	}
	return text
}

// Writer returns a writer to w that hides secrets. Each Write must have complete messages.
func (s *Secrets) Writer(w io.Writer) io.Writer { return &redactingWriter{w, s} }

type redactingWriter struct {
	w       io.Writer
	secrets *Secrets
}

func (h *redactingWriter) Write(b []byte) (int, error) {
	if _, err := h.w.Write(h.secrets.hide(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}
