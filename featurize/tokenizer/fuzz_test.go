package tokenizer

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
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
	for _, b := range smallFiles(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) { checkFile(t, b) })
}

// FuzzParseValue puts any value in the place of any other in a good file.
func FuzzParseValue(f *testing.F) {
	seeds := smallFiles(f)
	r := rand.New(rand.NewPCG(7, 8))
	for _, value := range []string{"null", "0", "-1", "1e30", "2147483647", `""`, `"a"`, "[]", "{}", "true", `[["a", "b"]]`, `{"type": "NFC"}`, `{"Regex": "\\s+"}`} {
		f.Add(uint8(r.IntN(256)), uint16(r.IntN(1<<16)), value)
	}
	f.Fuzz(func(t *testing.T, seed uint8, at uint16, value string) {
		var file any
		if err := json.Unmarshal(seeds[int(seed)%len(seeds)], &file); err != nil {
			t.Fatal(err)
		}
		var to any
		if json.Unmarshal([]byte(value), &to) != nil {
			to = value
		}
		places := 0
		visitValues(file, func(func(any)) { places++ })
		chosen := int(at) % places
		visitValues(file, func(set func(any)) {
			if chosen == 0 {
				set(to)
			}
			chosen--
		})
		checkFile(t, marshal(t, file))
	})
}

// visitValues calls visit with a setter of each value below a value, in order,
// but only of the first few of a long list.
func visitValues(v any, visit func(set func(any))) {
	switch v := v.(type) {
	case map[string]any:
		for i, key := range slices.Sorted(maps.Keys(v)) {
			if i < 30 {
				visitValues(v[key], visit)
				visit(func(to any) { v[key] = to })
			}
		}
	case []any:
		for i := range v[:min(len(v), 30)] {
			visitValues(v[i], visit)
			visit(func(to any) { v[i] = to })
		}
	}
}

// checkFile holds a file to the laws if it can be read.
func checkFile(t testing.TB, b []byte) {
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
}

// smallFiles are a file of every kind, all of them good.
func smallFiles(f *testing.F) (files [][]byte) {
	list := variants(f)
	for _, name := range []string{bert, clip, deb, qwen} {
		list = append(list, variant{base: name})
	}
	for _, v := range list {
		b := v.small(f)
		if _, err := Parse(b); err != nil {
			f.Fatalf("%s: %v", v.name, err)
		}
		files = append(files, b)
	}
	return files
}

// small is a variant on a small file.
func (v variant) small(t testing.TB) []byte {
	t.Helper()
	file := maps.Clone(smallFile(t, v.base))
	for section, text := range v.sections {
		file[section] = json.RawMessage(text)
	}
	return marshal(t, file)
}

// smallBases are the results of smallFile: reading the real files takes most of the time.
var smallBases = map[string]map[string]json.RawMessage{}

// smallFile is a real file with what is left of its vocabulary when it is cut down to single characters and a few merges.
func smallFile(t testing.TB, base string) (file map[string]json.RawMessage) {
	t.Helper()
	if made, ok := smallBases[base]; ok {
		return made
	}
	readJSON(t, &file, files[base], fileName)
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
	smallBases[base] = file
	return file
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
	if testing.Short() {
		t.Skip("long texts, one after the other")
	}
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
