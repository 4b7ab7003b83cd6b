package tokenizer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tiny is a whole file with a vocabulary of a few words; each %s takes more
// fields or another section.
const tiny = `{
	"version": "1.0",
	"normalizer": {"type": "Lowercase"},
	"pre_tokenizer": {"type": "Whitespace"},
	"model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 8,
		"vocab": {"[UNK]": 0, "un": 1, "##aff": 2, "##able": 3, "able": 4, ".": 5, "[PAD]": 6, "[END]": 9}},
	"post_processor": {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "[END]", "type_id": 0}}],
		"pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "[END]", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
		"special_tokens": {"[END]": {"id": "[END]", "ids": [9], "tokens": ["[END]"]}}},
	"decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
	"added_tokens": [{"id": 9, "content": "[END]", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}],
	"truncation": {"max_length": 4, "strategy": "LongestFirst", "stride": 0, "direction": "Right"},
	"padding": {"strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": null, "pad_id": 6, "pad_type_id": 0, "pad_token": "[PAD]"}
}`

func parseTiny(t *testing.T, replacements ...string) (*Tokenizer, error) {
	t.Helper()
	text := strings.NewReplacer(replacements...).Replace(tiny)
	if len(replacements) > 0 && text == tiny {
		t.Fatalf("%q is not in the file", replacements)
	}
	return Parse([]byte(text))
}

func TestTiny(t *testing.T) {
	tok, err := parseTiny(t)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text string
		o    Options
		want []int32
	}{
		{"Unaffable able.", Options{}, []int32{0, 4, 5}}, // nine characters are one too many
		{"UNABLE.", Options{Special: true}, []int32{1, 3, 5, 9}},
		{"unaff [END]able", Options{}, []int32{1, 2, 9, 4}},
		{"unable unable.", tok.Defaults(), []int32{1, 3, 1, 9}},
		{"unable", Options{Special: true, MaxLength: 1}, []int32{9}},
		{"un\xffable", Options{}, []int32{1, 0, 4}},
	} {
		if d := cmp.Diff(c.want, tok.Encode(c.text, c.o).IDs); d != "" {
			t.Errorf("%q with %+v: %s", c.text, c.o, d)
		}
	}
	want := Encoding{IDs: []int32{4, 9, 1, 3}, Types: []int32{0, 0, 1, 1}}
	if d := cmp.Diff(want, tok.EncodePair("able", "unable.", tok.Defaults())); d != "" {
		t.Error(d)
	}
	if got := tok.Decode([]int32{1, 3, 5, 9, 700, -1}); got != "unable." {
		t.Errorf("decoded %q", got)
	}
	if id, ok := tok.ID("able"); id != 4 || !ok || tok.Size() != 10 || tok.Pad() != 6 || !strings.HasPrefix(tok.Digest(), "sha256:") {
		t.Errorf("able is %d %v of %d, padding %d, digest %s", id, ok, tok.Size(), tok.Pad(), tok.Digest())
	}
	if _, ok := tok.Token(7); ok {
		t.Error("there is a token 7")
	}
}

// Every part that is not implemented is named.
func TestUnsupported(t *testing.T) {
	for _, c := range []struct{ old, new, path, what string }{
		{`{"type": "Lowercase"}`, `{"type": "Nmt"}`, "normalizer.type", `normalizer "Nmt"`},
		{`{"type": "Lowercase"}`, `{"type": "Lowercase", "locale": "tr"}`, "normalizer.locale", "this field of normalizer"},
		{`{"type": "Lowercase"}`, `{"type": "Sequence", "normalizers": [{"type": "Replace", "pattern": {"Regex": "a|b"}, "content": ""}]}`, "normalizer.normalizers[0].pattern", `the pattern "a|b"`},
		{`{"type": "Whitespace"}`, `{"type": "CharDelimiterSplit"}`, "pre_tokenizer.type", `pre-tokenizer "CharDelimiterSplit"`},
		{`{"type": "Whitespace"}`, `{"type": "Split", "pattern": {"Regex": "\\d+"}, "behavior": "Isolated", "invert": false}`, "pre_tokenizer.pattern", `the pattern "\\d+"`},
		{`{"type": "Whitespace"}`, `{"type": "ByteLevel", "add_prefix_space": false}`, "model.type", `a model "WordPiece" after the pre-tokenizer ByteLevel`},
		{`"WordPiece", "unk`, `"WordLevel", "unk`, "model.type", `model "WordLevel"`},
		{`"TemplateProcessing"`, `"Other"`, "post_processor.type", `post-processor "Other"`},
		{`{"type": "WordPiece", "prefix"`, `{"type": "CTC", "prefix"`, "decoder.type", `decoder "CTC"`},
		{`{"type": "WordPiece", "prefix": "##", "cleanup": true}`, `{"type": "BPEDecoder", "suffix": ""}`, "decoder.suffix", "an empty suffix"},
		{`"LongestFirst"`, `"DoNotTruncate"`, "truncation.strategy", `truncation "DoNotTruncate"`},
		{`{"type": "Whitespace"}`, `{"type": "Sequence", "pretokenizers": [{"type": "Metaspace", "replacement": "_", "prepend_scheme": "first", "split": true}]}`, "pre_tokenizer.prepend_scheme", `"first" with a normalizer`},
		{`"version": "1.0",`, `"version": "1.0", "extra": 1,`, "extra", "this field of a tokenizer"},
		{`"id": 9, "content"`, `"id": 5, "content"`, "added_tokens[0].id", `id 5 for "[END]", which has id 9 in the vocabulary,`},
	} {
		_, err := parseTiny(t, c.old, c.new)
		var unsupported *UnsupportedError
		if !errors.As(err, &unsupported) || unsupported.Path != c.path || unsupported.What != c.what || unsupported.Hint() == "" {
			t.Errorf("%s: %v", c.new, err)
		}
	}
}

// doubling is a step that many of make a page of file a world of text.
const doubling = `{"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}`

// Files that contradict themselves say where.
func TestBadFiles(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`"version"`, `"Version"`, "version: is missing"},
		{`"able": 4`, `"able": 1`, `model.vocab: tokens "able" and "un" have the same id 1`},
		{`"able": 4`, `"able": -4`, `model.vocab: token "able" has id -4`},
		{`"unk_token": "[UNK]"`, `"unk_token": "?"`, `model.unk_token: token "?" is not in the vocabulary`},
		{`"ids": [9]`, `"ids": [8]`, "post_processor.special_tokens.[END].ids: 8 is not the id of a token"},
		{`{"id": "B", "type_id": 1}`, `{"id": "C", "type_id": 1}`, `post_processor.pair[2].Sequence.id: "C" does not name one of 2 texts`},
		{`"pad_id": 6`, `"pad_id": 7`, "padding.pad_id: 7 is not the id of a token"},
		{`{"type": "Lowercase"}`, `{"type": "Replace", "pattern": {"String": "a"}, "content": "` + strings.Repeat("a", 300) + `"}`, "normalizer: replacements can make a text more than 256 times longer"},
		{`{"type": "Lowercase"}`, strings.Repeat(`{"type": "Sequence", "normalizers": [`, 20) + strings.Repeat(`]}`, 20), "components nest deeper than 8"},
		{`{"type": "WordPiece", "prefix": "##", "cleanup": true}`, `{"type": "Sequence", "decoders": [` + strings.Repeat(doubling+", ", 40) + doubling + `]}`, "decoder: replacements can make a text more than 256 times longer"},
		{`{"type": "Lowercase"}`, `7`, "normalizer: json: cannot unmarshal number"},
	} {
		_, err := parseTiny(t, c.old, c.new)
		var format *FormatError
		if !errors.As(err, &format) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.want, err)
		}
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	if _, err := Load(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an empty folder: %v", err)
	}
	path := filepath.Join(dir, fileName)
	if err := os.WriteFile(path, []byte(tiny), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{dir, path} {
		if tok, err := Load(from); err != nil || tok.Size() != 10 {
			t.Errorf("%s: %v", from, err)
		}
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", path)) {
		t.Errorf("half a file: %v", err)
	}
}

// Goroutines that share a tokenizer get what one alone gets.
func TestConcurrent(t *testing.T) {
	tok := load(t, clip)
	texts := hardTexts()
	if testing.Short() { // every text takes a tokenizer that no other one has used
		texts = texts[:len(texts)/4]
	}
	var want []Encoding
	for _, text := range texts {
		want = append(want, load(t, clip).Encode(text, tok.Defaults()))
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for i, text := range texts {
				if d := cmp.Diff(want[i], tok.Encode(text, tok.Defaults())); d != "" {
					t.Errorf("%q: %s", text, d)
				}
			}
		})
	}
	group.Wait()
}

// The longer text is cut first; an odd id stays with it, or with the second.
func TestLongestFirst(t *testing.T) {
	for a := range 9 {
		for b := range 9 {
			for length := range a + b {
				na, nb := longestFirst(a, b, length)
				if na+nb != length || na > a || nb > b || na < min(a, length/2) || nb < min(b, length/2) {
					t.Errorf("%d and %d to %d: %d and %d", a, b, length, na, nb)
				}
			}
		}
	}
}
