// Package tokenizer converts texts to the token ids of a language model. It
// reads the model's tokenizer.json in the format of Hugging Face.
//
// A text passes through the sections of the file in this order. Added tokens
// are found in it, a normalizer rewrites the rest, a pre-tokenizer splits that
// into pieces, a model converts each piece to ids, and a post-processor adds
// special tokens. docs/tokenizers.md lists the supported components.
package tokenizer

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unicode/utf8"

	"pipe/internal/digest"
	"pipe/internal/outside"
	"pipe/internal/strictjson"
	"pipe/internal/textfile"
)

// Tokenizer is the tokenizer of a tokenizer.json. It is safe for concurrent
// use.
type Tokenizer struct {
	added      *added
	normalizer normalizer // nil: none
	splitter   splitter   // nil: none
	model      model
	templates  templates
	decoder    decoder // nil: tokens are joined with spaces
	truncation truncation
	padding    *Padding // nil: none
	vocab      vocabulary
	digest     string
	scratch    sync.Pool // of *scratch
}

// Options control how texts are converted to ids.
type Options struct {
	Special   bool // add the special tokens of the post-processor
	MaxLength int  // most ids, including special ones; 0: no limit
}

// fileName is the name of the file in a folder.
const fileName = "tokenizer.json"

// Load reads a tokenizer.json; path is the file or its folder.
func Load(path string) (*Tokenizer, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, fileName)
	}
	b, err := textfile.ReadFile(path, textfile.MaxWhole)
	if err != nil {
		return nil, fmt.Errorf("read tokenizer: %w", err)
	}
	t, err := Parse(b)
	if err != nil {
		return nil, fmt.Errorf("read tokenizer %q: %w", path, err)
	}
	return t, nil
}

// Parse reads the text of a tokenizer.json. A component, option or field that
// would change ids and is not implemented is an *UnsupportedError that names
// it; an inconsistent or malformed file is a *FormatError.
func Parse(b []byte) (*Tokenizer, error) {
	return outside.Read(func() (*Tokenizer, error) { return parse(b) })
}

func parse(b []byte) (*Tokenizer, error) {
	if err := strictjson.Check(b); err != nil && json.Valid(b) {
		return nil, &FormatError{Msg: err.Error()}
	}
	var err error
	o := newObject("", 0, b, &err)
	if version := field[string](o, "version"); err == nil && version != "1.0" {
		o.unsupported("version", "version %q", version)
	}
	t := &Tokenizer{}
	t.parse(o)
	o.done()
	if err != nil {
		return nil, err
	}
	t.digest = digest.Of(b)
	t.scratch.New = func() any { return &scratch{} }
	return t, nil
}

// parse reads the sections.
func (t *Tokenizer) parse(o *object) {
	if n := o.object("normalizer"); n != nil {
		t.normalizer = parseNormalizer(n)
	}
	bytes := false
	if s := o.object("pre_tokenizer"); s != nil {
		t.splitter, bytes = parseSplitter(s)
		if t.normalizer != nil && prefixesFirst(t.splitter) {
			s.unsupported("prepend_scheme", "\"first\" with a normalizer")
		}
	}
	if m := o.object("model"); m != nil {
		t.model = parseModel(m, bytes, &t.vocab)
	} else {
		o.fail("model", "is missing")
	}
	if *o.err != nil {
		return // the sections below need the vocabulary and the normalizer
	}
	t.added = parseAdded(o, t.normalizer, &t.vocab)
	t.templates = plain
	if p := o.object("post_processor"); p != nil {
		t.templates, _ = parsePost(p, &t.vocab)
	}
	if d := o.object("decoder"); d != nil {
		t.decoder = parseDecoder(d)
	}
	t.truncation = parseTruncation(o.object("truncation"))
	t.padding = parsePadding(o.object("padding"), &t.vocab)
}

// Defaults are the options with special tokens and the truncation of the file.
func (t *Tokenizer) Defaults() Options {
	return Options{Special: true, MaxLength: t.truncation.length}
}

// Encode returns the ids of a text. An invalid byte of UTF-8 counts as U+FFFD.
// If the limit is too small for the special tokens, they are truncated as well.
func (t *Tokenizer) Encode(text string, o Options) Encoding {
	s := t.scratch.Get().(*scratch)
	defer t.scratch.Put(s)
	s.ids = t.appendIDs(s.ids[:0], s, text)
	ids := s.ids
	if o.MaxLength > 0 {
		ids = t.truncation.one(ids, t.room(o, t.templates.single))
	}
	return limited(fill(t.templates.single, o.Special, ids), o)
}

// EncodePair returns the ids of two texts that a model reads together. If they
// are too long, the longer one is truncated first, unless the file sets another
// strategy.
func (t *Tokenizer) EncodePair(a, b string, o Options) Encoding {
	s := t.scratch.Get().(*scratch)
	defer t.scratch.Put(s)
	s.ids = t.appendIDs(s.ids[:0], s, a)
	n := len(s.ids)
	s.ids = t.appendIDs(s.ids, s, b)
	first, second := s.ids[:n], s.ids[n:]
	if o.MaxLength > 0 {
		first, second = t.truncation.two(first, second, t.room(o, t.templates.pair))
	}
	return limited(fill(t.templates.pair, o.Special, first, second), o)
}

// room is the number of ids that the limit leaves for the texts of a template.
func (t *Tokenizer) room(o Options, slots []slot) int {
	if o.Special {
		return o.MaxLength - specials(slots)
	}
	return o.MaxLength
}

// limited applies the limit to templates with more special tokens than the
// limit, or with a repeated text.
func limited(e Encoding, o Options) Encoding {
	if o.MaxLength > 0 && len(e.IDs) > o.MaxLength {
		e.IDs, e.Types = e.IDs[:o.MaxLength], e.Types[:o.MaxLength]
	}
	return e
}

// appendIDs appends the ids of a text without special tokens.
func (t *Tokenizer) appendIDs(dst []int32, s *scratch, text string) []int32 {
	if !utf8.ValidString(text) {
		text = string([]rune(text))
	}
	t.added.raw.find(text, func(gap string, at int, token int32) {
		if token >= 0 {
			dst = append(dst, token)
			return
		}
		if t.normalizer != nil {
			gap = t.normalizer.normalize(gap)
		}
		t.added.normalized.find(gap, func(part string, below int, token int32) {
			if token >= 0 {
				dst = append(dst, token)
				return
			}
			dst = t.appendPieces(dst, s, piece{text: part, first: at+below == 0})
		})
	})
	return dst
}

// appendPieces appends the ids of a text without added tokens.
func (t *Tokenizer) appendPieces(dst []int32, s *scratch, p piece) []int32 {
	s.pieces = s.pieces[:0]
	if t.splitter == nil {
		s.pieces = append(s.pieces, p)
	} else {
		s.pieces = t.splitter.split(s.pieces, p)
	}
	for _, q := range s.pieces {
		dst = t.model.encode(dst, s, q.text)
	}
	clear(s.pieces)
	return dst
}

// Words returns what the model makes ids of: the pieces of a text after normalizer and pre-tokenizer. It does not look for
// added tokens.
func (t *Tokenizer) Words(text string) []string {
	if !utf8.ValidString(text) {
		text = string([]rune(text))
	}
	if t.normalizer != nil {
		text = t.normalizer.normalize(text)
	}
	if t.splitter == nil {
		return []string{text}
	}
	var words []string
	for _, p := range t.splitter.split(nil, piece{text: text, first: true}) {
		words = append(words, p.text)
	}
	return words
}

// Decode returns the text of ids. It skips special tokens and unknown ids.
func (t *Tokenizer) Decode(ids []int32) string {
	tokens := make([]string, 0, len(ids))
	for _, id := range ids {
		token, ok := t.vocab.tokens[id]
		if !ok || t.added.special[id] {
			continue
		}
		if written, ok := t.added.written[id]; ok {
			token = written
		}
		tokens = append(tokens, token)
	}
	if t.decoder == nil {
		return strings.Join(tokens, " ")
	}
	return strings.Join(t.decoder(tokens), "")
}

// ID returns the id of a token.
func (t *Tokenizer) ID(token string) (int32, bool) {
	id, ok := t.vocab.ids[token]
	return id, ok
}

// Token returns the token of an id.
func (t *Tokenizer) Token(id int32) (string, bool) {
	token, ok := t.vocab.tokens[id]
	return token, ok
}

// Size is one more than the highest id.
func (t *Tokenizer) Size() int { return t.vocab.size }

// Pad is the id for padding, 0 if the file does not set one.
func (t *Tokenizer) Pad() int32 {
	if t.padding == nil {
		return 0
	}
	return t.padding.ID
}

// Lowercases reports whether the normalizer lower-cases texts.
func (t *Tokenizer) Lowercases() bool {
	return t.normalizer != nil && strings.Contains(t.normalizer.normalize("A"), "a")
}

// Special returns the ids of the special tokens of the file, by name.
func (t *Tokenizer) Special() map[string]int32 {
	ids := map[string]int32{}
	for id := range t.added.special {
		ids[t.vocab.tokens[id]] = id
	}
	return ids
}

// Padding returns how the file pads batches; false if it does not pad them.
func (t *Tokenizer) Padding() (Padding, bool) {
	if t.padding == nil {
		return Padding{}, false
	}
	return *t.padding, true
}

// Digest is the digest of the file: "sha256:" and hexadecimal digits.
func (t *Tokenizer) Digest() string { return t.digest }
