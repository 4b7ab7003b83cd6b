package tokenizer

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// variant is a real tokenizer file with other sections.
type variant struct {
	name     string
	base     string            // name in files
	sections map[string]string // JSON by section
}

// write makes the file of a variant.
func (v variant) write(t testing.TB) string {
	t.Helper()
	var file map[string]json.RawMessage
	readJSON(t, &file, files[v.base], fileName)
	for section, text := range v.sections {
		if !json.Valid([]byte(text)) {
			t.Fatalf("%s: section %s is no JSON", v.name, section)
		}
		file[section] = json.RawMessage(text)
	}
	b, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), fileName)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const (
	bert = "all-MiniLM-L6-v2"
	clip = "clip-vit-large-patch14"
	deb  = "deberta-v3-tiny-random"
	qwen = "qwen3-tiny-random"
)

func section(name, text string) map[string]string { return map[string]string{name: text} }

// added tokens of every kind, at the ids of BERT's unused tokens.
const addedTokens = `[
	{"id": 1, "content": "[unused0]", "single_word": true, "lstrip": false, "rstrip": false, "normalized": false, "special": false},
	{"id": 2, "content": "[unused1]", "single_word": false, "lstrip": true, "rstrip": true, "normalized": false, "special": true},
	{"id": 3, "content": "[unused2]", "single_word": true, "lstrip": true, "rstrip": false, "normalized": true, "special": false},
	{"id": 100, "content": "[UNK]", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true},
	{"id": 101, "content": "[CLS]", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true},
	{"id": 102, "content": "[SEP]", "single_word": false, "lstrip": false, "rstrip": true, "normalized": false, "special": true},
	{"id": 30522, "content": "Québec", "single_word": false, "lstrip": false, "rstrip": false, "normalized": true, "special": false},
	{"id": 2158, "content": "man", "single_word": false, "lstrip": false, "rstrip": true, "normalized": true, "special": true},
	{"id": 1996, "content": "the", "single_word": true, "lstrip": false, "rstrip": true, "normalized": false, "special": false},
	{"id": 30523, "content": "the claim", "single_word": false, "lstrip": true, "rstrip": true, "normalized": true, "special": false}
]`

const cutAtMarks = `{"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"String": "a"}, "behavior": "%s", "invert": false},
	{"type": "Split", "pattern": {"Regex": "\\s+"}, "behavior": "%s", "invert": %s}, {"type": "Punctuation", "behavior": "%s"}]}`

// variants are the supported components that the four files do not have.
func variants(t testing.TB) []variant {
	list := []variant{
		{"bert cased", bert, section("normalizer", `{"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": false}`)},
		{"bert accents", bert, section("normalizer", `{"type": "BertNormalizer", "clean_text": false, "handle_chinese_chars": false, "strip_accents": false, "lowercase": true}`)},
		{"bert strips", bert, section("normalizer", `{"type": "BertNormalizer", "clean_text": false, "handle_chinese_chars": true, "strip_accents": true, "lowercase": false}`)},
		{"added tokens", bert, section("added_tokens", addedTokens)},
		{"bert processing", bert, section("post_processor", `{"type": "BertProcessing", "sep": ["[SEP]", 102], "cls": ["[CLS]", 101]}`)},
		{"no processing", bert, section("post_processor", `null`)},
		{"no decoder", bert, section("decoder", `null`)},
		{"plain decoder", bert, section("decoder", `{"type": "WordPiece", "prefix": "##", "cleanup": false}`)},
		{"template in order", bert, section("post_processor", `{"type": "Sequence", "processors": [{"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true},
			{"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 3}}, {"SpecialToken": {"id": "end", "type_id": 2}}],
			"pair": [{"Sequence": {"id": "B", "type_id": 1}}, {"SpecialToken": {"id": "end", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 2}}],
			"special_tokens": {"end": {"id": "end", "ids": [102, 101], "tokens": ["[SEP]", "[CLS]"]}}}]}`)},
		{"whitespace", bert, section("pre_tokenizer", `{"type": "Whitespace"}`)},
		{"whitespace split", bert, section("pre_tokenizer", `{"type": "WhitespaceSplit"}`)},
		{"digits", bert, section("pre_tokenizer", `{"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, {"type": "Digits", "individual_digits": true}]}`)},
		{"digit runs", bert, section("pre_tokenizer", `{"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": false}, {"type": "WhitespaceSplit"}, {"type": "Punctuation", "behavior": "Contiguous"}]}`)},
		{"compatibility", deb, section("normalizer", `{"type": "Sequence", "normalizers": [{"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"}]}`)},
		{"accents only", deb, section("normalizer", `{"type": "StripAccents"}`)},
		{"decomposed", deb, section("normalizer", `{"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "Strip", "strip_left": false, "strip_right": true}, {"type": "Prepend", "prepend": "▁"}]}`)},
		{"replaced", deb, section("normalizer", `{"type": "Sequence", "normalizers": [{"type": "Replace", "pattern": {"String": "e"}, "content": "ea e"}, {"type": "Replace", "pattern": {"Regex": "\\s{2,}"}, "content": " "}, {"type": "Replace", "pattern": {"Regex": " +"}, "content": "▁"}]}`)},
		{"metaspace first", deb, map[string]string{"normalizer": `null`, "pre_tokenizer": `{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": true}`}},
		{"metaspace never", deb, map[string]string{"pre_tokenizer": `{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never", "split": true}`, "decoder": `{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never", "split": true}`}},
		{"metaspace whole", deb, section("pre_tokenizer", `{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": false}`)},
		{"unigram without cuts", deb, section("pre_tokenizer", `null`)},
		{"llama decoder", deb, section("decoder", `{"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}`)},
		{"gpt2", qwen, map[string]string{"normalizer": `null`, "pre_tokenizer": `{"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true}`}},
		{"llama3", qwen, section("pre_tokenizer", `{"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": `+quoted(llama3Pattern)+`}, "behavior": "Isolated", "invert": false}, {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}]}`)},
		{"characters", qwen, section("pre_tokenizer", `{"type": "Whitespace"}`)},
		{"clip decoder", clip, section("decoder", `{"type": "BPEDecoder", "suffix": "</w>"}`)},
		{"precompiled", deb, section("normalizer", `{"type": "Sequence", "normalizers": [{"type": "Precompiled", "precompiled_charsmap": "`+charsmap(map[string]string{"ﬁ": "fi", "①": "1", "\t": " ", "e\u0301": "é", "A": "a", "Aa": "b", "\u200d": ""})+`"}, {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]}`)},
	}
	for _, how := range [][4]string{
		{"MergedWithPrevious", "MergedWithNext", "false", "MergedWithPrevious"},
		{"MergedWithNext", "MergedWithPrevious", "true", "MergedWithNext"},
		{"Isolated", "Contiguous", "false", "Removed"},
		{"Contiguous", "Isolated", "true", "Isolated"},
		{"Removed", "Removed", "true", "Contiguous"},
	} {
		list = append(list, variant{"cut " + how[0], bert, section("pre_tokenizer", sprintf(cutAtMarks, how))})
	}
	return list
}

// The supported components that the four files do not have.
func TestJudgeVariants(t *testing.T) {
	python := reference(t)
	r := rand.New(rand.NewPCG(3, 4))
	texts := append(hardTexts(), "a man  x MAN woman", "[unused0] x[unused0] [unused0]x [unused1]  [unused1]a [unused2] [UNUSED2]x [SEP] [sep]  x", "the claim the  claim then the", "a aa b a  aab", "Quebec QUÉBEC québec")
	for range 800 {
		texts = append(texts, randomText(r))
	}
	var pairs [][2]string
	for i := 0; i+1 < len(texts); i += 9 {
		pairs = append(pairs, [2]string{texts[i], texts[i+1]})
	}
	for _, v := range variants(t) {
		t.Run(v.name, func(t *testing.T) { hold(t, python, v.write(t), question{Texts: texts, Pairs: pairs, Special: true}) })
	}
}

// The truncation and the padding of a file.
func TestJudgeDefaults(t *testing.T) {
	python := reference(t)
	q := question{Texts: hardTexts(), Special: true, Defaults: true}
	for _, v := range []variant{
		{"as it is", bert, nil},
		{"left", bert, map[string]string{
			"truncation": `{"max_length": 9, "strategy": "LongestFirst", "stride": 2, "direction": "Left"}`,
			"padding":    `{"strategy": "BatchLongest", "direction": "Left", "pad_to_multiple_of": 8, "pad_id": 5, "pad_type_id": 2, "pad_token": "[unused4]"}`,
		}},
	} {
		t.Run(v.name, func(t *testing.T) {
			file := v.write(t)
			tok, err := Load(file)
			if err != nil {
				t.Fatal(err)
			}
			a := ask(t, python, file, q)
			var batch []Encoding
			for _, text := range q.Texts {
				batch = append(batch, tok.Encode(text, tok.Defaults()))
			}
			p, _ := tok.Padding()
			masks := p.Apply(batch)
			for i, text := range q.Texts {
				checkReading(t, tok, text, a.Texts[i], batch[i])
				checkIDs(t, tok, "mask of "+text, a.Texts[i].Mask, masks[i])
			}
		})
	}
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func sprintf(format string, args [4]string) string {
	for _, arg := range args {
		before, after, _ := strings.Cut(format, "%s")
		format = before + arg + after
	}
	return format
}

// charsmap makes a rule set of SentencePiece: a double array without sharing,
// where the children of each node lie in a block of their own.
func charsmap(rules map[string]string) string {
	type node struct {
		children map[byte]*node
		value    int // -1: none
	}
	root := &node{children: map[byte]*node{}, value: -1}
	replacements := ""
	for from, to := range rules {
		at := root
		for i := range len(from) {
			if at.children[from[i]] == nil {
				at.children[from[i]] = &node{children: map[byte]*node{}, value: -1}
			}
			at = at.children[from[i]]
		}
		at.value = len(replacements)
		replacements += to + "\x00"
	}
	units := make([]uint32, 256)
	var place func(n *node, at uint32)
	place = func(n *node, at uint32) {
		base := uint32(len(units))
		units = append(units, make([]uint32, 256)...)
		units[at] |= (at ^ base) << 10
		if n.value >= 0 {
			units[at] |= 1 << 8
			units[base] = uint32(n.value) | 1<<31
		}
		for b, child := range n.children {
			units[base^uint32(b)] = uint32(b)
			place(child, base^uint32(b))
		}
	}
	place(root, 0)
	b := binary.LittleEndian.AppendUint32(nil, uint32(4*len(units)))
	for _, unit := range units {
		b = binary.LittleEndian.AppendUint32(b, unit)
	}
	return base64.StdEncoding.EncodeToString(append(b, replacements...))
}
