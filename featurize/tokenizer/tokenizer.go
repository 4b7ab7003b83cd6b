// Package tokenizer turns texts into the token ids that a language model was
// trained on, from the tokenizer.json file that Hugging Face keeps beside it.
package tokenizer

import (
	"errors"
	"fmt"
)

// Tokenizer is the pipeline that a tokenizer.json describes. It is safe for
// concurrent use.
type Tokenizer struct{}

// Options say how texts become ids.
type Options struct {
	Special   bool // add the special tokens of the post-processor
	MaxLength int  // most ids, special ones counted; 0: no limit
}

// Encoding is one text, or a pair of texts, as ids.
type Encoding struct {
	IDs   []int32
	Types []int32 // segment of each id: 0, or 1 where the file says so for the second text
}

// UnsupportedError names a part of a tokenizer.json that this package does not
// implement and that would change the ids.
type UnsupportedError struct {
	Path string // where in the file, such as pre_tokenizer.pretokenizers[0].pattern
	What string // the component, option or field
}

// Error returns `tokenizer: normalizer.type: Nmt is not supported`.
func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("tokenizer: %s: %s is not supported", e.Path, e.What)
}

var errUnfinished = errors.New("tokenizer: not built yet")

// Load reads a tokenizer.json, or the one of a folder.
func Load(path string) (*Tokenizer, error) { return nil, errUnfinished }

// Parse reads the text of a tokenizer.json.
func Parse(b []byte) (*Tokenizer, error) { return nil, errUnfinished }

// Defaults are the options with special tokens and the truncation of the file.
func (t *Tokenizer) Defaults() Options { return Options{} }

// Encode returns the ids of a text.
func (t *Tokenizer) Encode(text string, o Options) Encoding { return Encoding{} }

// EncodePair returns the ids of two texts that a model reads together.
func (t *Tokenizer) EncodePair(a, b string, o Options) Encoding { return Encoding{} }

// Decode returns the text of ids without the special tokens.
func (t *Tokenizer) Decode(ids []int32) string { return "" }

// ID returns the id of a token.
func (t *Tokenizer) ID(token string) (int32, bool) { return 0, false }

// Token returns the token of an id.
func (t *Tokenizer) Token(id int32) (string, bool) { return "", false }

// Size is one more than the highest id.
func (t *Tokenizer) Size() int { return 0 }

// Pad is the id for padding, 0 if the file names none.
func (t *Tokenizer) Pad() int32 { return 0 }

// Digest is the digest of the file, "sha256:" and hexadecimal digits.
func (t *Tokenizer) Digest() string { return "" }
