package tokenizer

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// FuzzEncode holds all encodings of any texts to their laws.
func FuzzEncode(f *testing.F) {
	var toks []*Tokenizer
	for name := range files {
		toks = append(toks, load(f, name))
	}
	r := rand.New(rand.NewPCG(5, 6))
	for _, text := range hardTexts() {
		f.Add(text, randomText(r), r.IntN(100))
	}
	f.Add("\xff\xc3\x28\xed\xa0\x80", "\x80", 3)
	f.Fuzz(func(t *testing.T, a, b string, limit int) {
		for _, tok := range toks {
			for _, o := range []Options{{}, {Special: true}, {MaxLength: max(limit, 0)}, {Special: true, MaxLength: max(limit, 0)}} {
				one := tok.Encode(a, o)
				checkLaws(t, tok, one, o)
				checkLaws(t, tok, tok.EncodePair(a, b, o), o)
				tok.Decode(one.IDs)
			}
		}
	})
}

// checkLaws: ids are tokens, types are as many, and the limit holds.
func checkLaws(t testing.TB, tok *Tokenizer, e Encoding, o Options) {
	t.Helper()
	if len(e.IDs) != len(e.Types) || o.MaxLength > 0 && len(e.IDs) > o.MaxLength {
		t.Fatalf("%d ids and %d types with %+v", len(e.IDs), len(e.Types), o)
	}
	for _, id := range e.IDs {
		if id < 0 || int(id) >= tok.Size() {
			t.Fatalf("id %d of %d", id, tok.Size())
		}
	}
}

// FuzzParse holds any file to the laws of those that are good.
func FuzzParse(f *testing.F) {
	seeds := variants(f)
	for _, name := range []string{bert, clip, deb, qwen} {
		seeds = append(seeds, variant{base: name})
	}
	for _, v := range seeds {
		b := v.small(f)
		if _, err := Parse(b); err != nil {
			f.Fatalf("%s: %v", v.name, err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		tok, err := Parse(b)
		if err != nil {
			return
		}
		for _, text := range []string{"", "The cat's  café 123\r\n ﬁ <|endoftext|>", strings.Repeat("aé 東'", 40)} {
			for _, o := range []Options{tok.Defaults(), {MaxLength: 7}} {
				e := tok.Encode(text, o)
				checkLaws(t, tok, e, o)
				checkLaws(t, tok, tok.EncodePair(text, text, o), o)
				tok.Decode(e.IDs)
			}
		}
	})
}

// small is a variant with what is left of its vocabulary when it is cut down to
// single characters and a few merges.
func (v variant) small(t testing.TB) []byte {
	t.Helper()
	var file map[string]json.RawMessage
	readJSON(t, &file, files[v.base], fileName)
	for section, text := range v.sections {
		file[section] = json.RawMessage(text)
	}
	var m map[string]any
	if err := json.Unmarshal(file["model"], &m); err != nil {
		t.Fatal(err)
	}
	switch vocab := m["vocab"].(type) {
	case map[string]any:
		for token, id := range vocab {
			if id.(float64) > 400 && id.(float64) < 49000 && !strings.HasPrefix(token, "<|") {
				delete(vocab, token)
			}
		}
		if m["merges"] != nil {
			m["merges"] = []any{}
		}
	case []any:
		m["vocab"] = vocab[:100]
	}
	file["model"] = json.RawMessage(marshal(t, m))
	return marshal(t, file)
}

func marshal(t testing.TB, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Long runs without a cut cost about as much as many short words. A search in
// which each of a million characters meets all others would take hours.
func TestLongRuns(t *testing.T) {
	const size = 1 << 20
	long := map[string]string{
		"a": strings.Repeat("a", size), "ab": strings.Repeat("ab", size/2), "the": strings.Repeat("the", size/3), "1": strings.Repeat("1", size),
		"spaces": strings.Repeat(" ", size), "lines": strings.Repeat(" \n", size/2), "quotes": strings.Repeat("'", size), "marks": "a" + strings.Repeat("\u0301\u0323", size/4),
		"begins": strings.Repeat("<|endoftext", size/11), "meta": strings.Repeat("▁", size/3), "joiners": strings.Repeat("👩\u200d", size/7),
	}
	for _, name := range []string{bert, clip, deb, qwen} {
		tok := load(t, name)
		for what, text := range long {
			start := time.Now()
			checkLaws(t, tok, tok.Encode(text, Options{}), Options{})
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("%s: a megabyte of %s took %v", name, what, took)
			} else {
				t.Logf("%s: a megabyte of %s took %v", name, what, took)
			}
		}
	}
}
