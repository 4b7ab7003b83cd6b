package tokenizer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// addedToken is a token that is matched in the text before the model runs.
type addedToken struct {
	id         int32
	singleWord bool // only if no word character is next to it
	left       bool // includes white space on its left
	right      bool // includes white space on its right
}

// added are the added tokens of a file.
type added struct {
	raw        finder // for tokens matched in the original text
	normalized finder // for tokens matched after the normalizer, in normalized form
	special    map[int32]bool
	written    map[int32]string // normalized forms; the reference decodes such tokens to them
}

// finder finds added tokens, the longest one at each position.
type finder struct {
	tokens  map[int32]addedToken
	strings *trie // nil if there are no tokens
	begins  [256]bool
}

// parseAdded reads the section added_tokens and adds the tokens to vocab.
func parseAdded(o *object, n normalizer, vocab *vocabulary) *added {
	a := &added{special: map[int32]bool{}, written: map[int32]string{}}
	raw := o.take("added_tokens")
	for _, t := range o.list("added_tokens", raw) {
		a.parseToken(t, n, vocab)
	}
	return a
}

func (a *added) parseToken(o *object, n normalizer, vocab *vocabulary) {
	content := field[string](o, "content")
	t := addedToken{
		id:         field[int32](o, "id"),
		singleWord: field[bool](o, "single_word"),
		left:       field[bool](o, "lstrip"),
		right:      field[bool](o, "rstrip"),
	}
	normalized, special := field[bool](o, "normalized"), field[bool](o, "special")
	o.done()
	if *o.err != nil || content == "" {
		return
	}
	known, taken := vocab.ids[content]
	other, reused := vocab.tokens[t.id]
	switch {
	case taken && known != t.id:
		o.unsupported("id", "id %d for %q, which has id %d in the vocabulary,", t.id, content, known)
		return
	case !taken && reused:
		o.unsupported("id", "id %d for %q, which is the id of %q in the vocabulary,", t.id, content, other)
		return
	case !taken:
		vocab.put(o, content, t.id)
	}
	if special {
		a.special[t.id] = true
	}
	if !normalized {
		a.raw.add(content, t)
		return
	}
	if n != nil {
		content = n.normalize(content)
	}
	a.written[t.id] = content
	a.normalized.add(content, t)
}

func (f *finder) add(content string, t addedToken) {
	if content == "" {
		return
	}
	if f.strings == nil {
		f.strings, f.tokens = newTrie(), map[int32]addedToken{}
	}
	f.strings.insert(content, t.id)
	f.tokens[t.id] = t
	f.begins[content[0]] = true
}

// find calls visit in the order of the text with the gaps between added tokens,
// and with the added tokens, for which the text is empty.
func (f *finder) find(s string, visit func(gap string, at int, token int32)) {
	done := 0 // s[:done] has been visited
	for at := 0; f.strings != nil && at < len(s); {
		if !f.begins[s[at]] {
			at++
			continue
		}
		id, n := f.strings.longest(s[at:])
		if n == 0 {
			at++
			continue
		}
		t := f.tokens[id]
		start, end := at, at+n
		at = end
		if t.singleWord && (wordBefore(s[:start]) || wordAfter(s[end:])) {
			continue
		}
		if t.left {
			start = done + len(strings.TrimRightFunc(s[done:max(done, start)], unicode.IsSpace))
		}
		if t.right { // the part before done is white space already included
			end = max(end, done)
			end = len(s) - len(strings.TrimLeftFunc(s[end:], unicode.IsSpace))
		}
		if done < start {
			visit(s[done:start], done, -1)
		}
		visit("", start, id)
		done = end
	}
	if done < len(s) {
		visit(s[done:], done, -1)
	}
}

func wordBefore(s string) bool {
	r, size := utf8.DecodeLastRuneInString(s)
	return size > 0 && classOf(r)&isWord != 0
}

func wordAfter(s string) bool {
	r, size := utf8.DecodeRuneInString(s)
	return size > 0 && classOf(r)&isWord != 0
}
