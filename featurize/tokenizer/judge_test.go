package tokenizer

import (
	"encoding/csv"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pipe/internal/judge"
	"pipe/internal/realdata"
)

// judgeScript runs the reference on a question and writes its answer. json.dumps takes a fifth of the time of json.dump.
const judgeScript = `
import json, sys
from tokenizers import Tokenizer
tok = Tokenizer.from_file(sys.argv[1])
q = json.load(open(sys.argv[2]))
special, defaults, answer = q["special"], q["defaults"], {}
if not defaults:
    tok.no_padding()
    tok.no_truncation()
def read(e):
    found = {"ids": e.ids, "types": e.type_ids}
    if defaults:
        found["mask"] = e.attention_mask # without padding it is 1
    return found
answer["texts"] = [read(e) for e in tok.encode_batch(q.get("texts") or [], add_special_tokens=special)]
answer["decoded"] = [tok.decode(e["ids"], skip_special_tokens=True) for e in answer["texts"]]
answer["pairs"] = [read(e) for e in tok.encode_batch(q.get("pairs") or [], add_special_tokens=special)]
answer["cut"] = []
for cut in q.get("cuts") or []:
    tok.enable_truncation(cut["length"], strategy=cut["strategy"], direction=cut["direction"])
    found = []
    for pair in q["short"]:
        try:
            found.append([read(tok.encode(pair[0], add_special_tokens=special)), read(tok.encode(*pair, add_special_tokens=special))])
        except Exception:
            found.append(None)
    answer["cut"].append(found)
open(sys.argv[3], "w").write(json.dumps(answer))
`

type question struct {
	Texts    []string    `json:"texts"`
	Pairs    [][2]string `json:"pairs"`
	Short    [][2]string `json:"short"` // pairs that are shortened: the reference works out all parts that are cut off
	Special  bool        `json:"special"`
	Defaults bool        `json:"defaults"` // keep the file's truncation and padding
	Cuts     []cut       `json:"cuts"`
}

type cut struct {
	Length    int    `json:"length"`
	Strategy  string `json:"strategy"`
	Direction string `json:"direction"`
}

type reading struct{ IDs, Types, Mask []int32 } // Mask: only with Defaults

type answer struct {
	Texts   []reading
	Decoded []string
	Pairs   []reading
	Cut     [][]*[2]reading // by cut and pair: the first text alone, the pair; nil: refused
}

// reference is a Python with the reference.
func reference(t testing.TB) string { return judge.Python(t, "tokenizers") }

// ask puts a question to the reference.
func ask(t testing.TB, python, file string, q question) (a answer) {
	t.Helper()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "question.json"), filepath.Join(dir, "answer.json")
	b, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(in, b, 0o600); err != nil {
		t.Fatal(err)
	}
	judge.Run(t, python, "", judgeScript, file, in, out)
	if b, err = os.ReadFile(out); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &a); err != nil {
		t.Fatal(err)
	}
	if len(a.Texts) != len(q.Texts) || len(a.Pairs) != len(q.Pairs) {
		t.Fatalf("%d answers to %d texts, %d to %d pairs", len(a.Texts), len(q.Texts), len(a.Pairs), len(q.Pairs))
	}
	return a
}

// hold compares a tokenizer file with the reference.
func hold(t testing.TB, python, file string, q question) {
	t.Helper()
	tok, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	a := ask(t, python, file, q)
	o := Options{Special: q.Special}
	for i, text := range q.Texts {
		got := tok.Encode(text, o)
		checkReading(t, tok, text, a.Texts[i], got)
		if decoded := tok.Decode(got.IDs); decoded != a.Decoded[i] {
			t.Errorf("decode %+q:\nwant %+q\n got %+q", text, a.Decoded[i], decoded)
		}
		stopAtMany(t)
	}
	for i, p := range q.Pairs {
		checkReading(t, tok, p[0]+" | "+p[1], a.Pairs[i], tok.EncodePair(p[0], p[1], o))
		stopAtMany(t)
	}
	for i, c := range q.Cuts {
		holdCut(t, tok, q, c, a.Cut[i])
	}
}

// holdCut compares shortened encodings; where the reference refuses a length,
// only the length counts.
func holdCut(t testing.TB, tok *Tokenizer, q question, c cut, want []*[2]reading) {
	t.Helper()
	shortened := &Tokenizer{
		added: tok.added, normalizer: tok.normalizer, splitter: tok.splitter, model: tok.model, templates: tok.templates, vocab: tok.vocab,
		truncation: truncation{strategy: strategies[c.Strategy], left: c.Direction == "left"},
	}
	shortened.scratch.New = tok.scratch.New
	o := Options{Special: q.Special, MaxLength: c.Length}
	for i, p := range q.Short {
		one, two := shortened.Encode(p[0], o), shortened.EncodePair(p[0], p[1], o)
		if len(one.IDs) > c.Length || len(two.IDs) > c.Length {
			t.Errorf("%+v: %d and %d ids of %+q", c, len(one.IDs), len(two.IDs), p)
		}
		if want[i] != nil {
			checkReading(t, tok, p[0], want[i][0], one)
			checkReading(t, tok, p[0]+" | "+p[1], want[i][1], two)
		}
		stopAtMany(t)
	}
}

var strategies = map[string]string{"longest_first": "LongestFirst", "only_first": "OnlyFirst", "only_second": "OnlySecond"}

func checkReading(t testing.TB, tok *Tokenizer, text string, want reading, got Encoding) {
	t.Helper()
	checkIDs(t, tok, text, want.IDs, got.IDs)
	if !slices.Equal(want.Types, got.Types) {
		t.Errorf("types of %+q: want %v, got %v", text, want.Types, got.Types)
	}
}

// stopAtMany ends a test that has failed: the first differences are enough.
func stopAtMany(t testing.TB) {
	if t.Failed() {
		t.FailNow()
	}
}

// feverTexts are all claims, evidence sentences and pages, each once.
func feverTexts(t testing.TB) (texts []string) {
	t.Helper()
	for _, line := range readLines(t, "fever", "paper_dev.jsonl") {
		texts = append(texts, parsed[struct{ Claim string }](t, line).Claim)
	}
	for _, line := range readLines(t, "fever", "wiki-pages-001.jsonl") {
		page := parsed[struct{ Text, Lines string }](t, line)
		texts = append(texts, page.Text, page.Lines)
	}
	f, err := os.Open(filepath.Join(realdata.Folder(t, "fever"), "train_sr_10000.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	claim, sentence := slices.Index(rows[0], "claim"), slices.Index(rows[0], "sentence")
	for _, row := range rows[1:] {
		texts = append(texts, row[claim], row[sentence])
	}
	seen := make(map[string]bool)
	return slices.DeleteFunc(texts, func(text string) bool {
		before := seen[text]
		seen[text] = true
		return before
	})
}

func readLines(t testing.TB, below ...string) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(realdata.Folder(t), filepath.Join(below...)))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}

func parsed[T any](t testing.TB, line string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(line), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// realFile is the path of a real tokenizer.
func realFile(t testing.TB, name string) string {
	return filepath.Join(realdata.Folder(t, files[name]), fileName)
}

// Every text of FEVER, and pairs of claim and sentence.
func TestJudgeFEVER(t *testing.T) {
	python, texts := reference(t), feverTexts(t)
	if len(texts) < 29_000 {
		t.Fatalf("only %d texts", len(texts))
	}
	var pairs [][2]string
	for i := 0; i+1 < len(texts); i += 20 {
		pairs = append(pairs, [2]string{texts[i], texts[i+1]})
	}
	for name := range files {
		t.Run(name, func(t *testing.T) {
			hold(t, python, realFile(t, name), question{Texts: texts, Pairs: pairs, Special: true})
		})
	}
}

// The texts of the golden files, encoded and decoded.
func TestJudgeGolden(t *testing.T) {
	python := reference(t)
	for name := range files {
		t.Run(name, func(t *testing.T) {
			q := question{Special: true}
			for _, g := range readGolden(t, name).Singles {
				q.Texts = append(q.Texts, g.Text)
			}
			hold(t, python, realFile(t, name), q)
		})
	}
}

// Random texts of what is hard: see randomText.
func TestJudgeRandomTexts(t *testing.T) {
	python := reference(t)
	for name := range files {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			q := question{Texts: hardTexts()}
			for range 3000 {
				q.Texts = append(q.Texts, randomText(r))
			}
			for range 200 {
				a, b := randomText(r), randomText(r)
				q.Pairs = append(q.Pairs, [2]string{a, b})
				if len(a) < 30 && len(b) < 30 {
					q.Short = append(q.Short, [2]string{a, b})
				}
			}
			for _, special := range []bool{false, true} {
				q.Special = special
				q.Cuts = cuts(name, special)
				hold(t, python, realFile(t, name), q)
			}
		})
	}
}

// cuts are lengths and ways to shorten to.
func cuts(name string, special bool) (list []cut) {
	for _, length := range []int{1, 2, 3, 4, 5, 6, 7, 8, 13, 32, 77} {
		for _, strategy := range []string{"longest_first", "only_first", "only_second"} {
			for _, direction := range []string{"right", "left"} {
				// The reference does not subtract more special tokens than there is room for.
				if !special || length > 4 || strings.HasPrefix(name, "qwen") {
					list = append(list, cut{Length: length, Strategy: strategy, Direction: direction})
				}
			}
		}
	}
	return list
}

// hardTexts are cases known to be hard.
func hardTexts() []string {
	return []string{
		"", " ", "\n", "\u00a0", "\u0130\u0131\u1e9e\u03a3\u03c3\u03c2 ΑΣ", "'ſt 'S'T'RE'VE'M'LL'D 's't're've'm'll'd 'Re", "don't DON'T can’t",
		"a\u0301\u0323\u0307b \u1e69 s\u0323\u0307 s\u0307\u0323 \u212b \u1112\u1161\u11ab \ud55c", strings.Repeat("\u0301", 50) + "a" + strings.Repeat("\u0315\u0300\u05ae\u0062", 40),
		"👩\u200d👩\u200d👧\u200d👦 🏳\ufe0f\u200d🌈 🇩🇪🇫🇷 👍🏽 ☝🏿", "\u202eabc\u202c \u2066x\u2069 שלום עליכם العَرَبِيَّة", strings.Repeat("x", 300) + " " + strings.Repeat("ab", 5000),
		strings.Repeat("9", 400), strings.Repeat(" ", 300) + "x" + strings.Repeat("\n", 300), "a\u2028b\u2029c\u0085d\u000be\u000cf\u001cg", "\r\n\r\n  \t\n x \n\n\n y  \r",
		"\ue000\uf8ff\U000f0000\U0010ffff\ufffe\uffff\u0378\U0001f9ff\U000323b0\U000e0001", "[CLS] [SEP][MASK][UNK] [PAD] [cls]", "<|startoftext|> <|endoftext|><|STARTOFTEXT|>",
		"<|im_start|>system\nx<|im_end|>\n<|endoftext|> <|im_start", "ﬁ ﬂ ﷺ ① ² ㎏ ｱﾞ Å ㍿", "2²③Ⅷ½٣๔ 1,000.50", "##ing ## ▁▁ ▁a Ġa Ċ", "<0x41><0xFF>", "ſ K Å ĳ ŉ ǆ",
	}
}

// alphabets are what random texts are made of.
var alphabets = []func(r *rand.Rand) string{
	func(r *rand.Rand) string { return string(rune('a' + r.IntN(26))) },
	func(r *rand.Rand) string { return string(rune(' ' + r.IntN(95))) },
	func(r *rand.Rand) string { return string(rune(r.IntN(0x250))) },
	func(r *rand.Rand) string { return string(rune(0x300 + r.IntN(0x70))) },
	func(r *rand.Rand) string { return string(rune(0x590 + r.IntN(0x500))) },
	func(r *rand.Rand) string { return string(rune(0x900 + r.IntN(0x1700))) },
	func(r *rand.Rand) string { return string(rune(0x2000 + r.IntN(0x1100))) },
	func(r *rand.Rand) string { return string(rune(0x4e00 + r.IntN(0x100))) },
	func(r *rand.Rand) string { return string(rune(0xa000 + r.IntN(0x37ff))) },
	func(r *rand.Rand) string { return string(rune(0xe000 + r.IntN(0x2000))) },
	func(r *rand.Rand) string { return string(rune(0x10000 + r.IntN(0x10000))) },
	func(r *rand.Rand) string { return string(rune(0x1f000 + r.IntN(0x1000))) },
	func(r *rand.Rand) string { return string(rune(0x20000 + r.IntN(0xf0000))) },
	func(r *rand.Rand) string {
		return oneOf(r, "\u200d", "\ufe0f", "🏽", "🇦", "👩", "\u200b", "\u200e", "\u202e", "\ufeff")
	},
	func(r *rand.Rand) string { return oneOf(r, " ", "  ", "\n", "\t", "\r\n", "\u3000", "\u0085", "\v") },
	func(r *rand.Rand) string { return oneOf(r, "'s", "'T", "'re", "'LL", "n't", "'ſ", "’s", "'") },
	func(r *rand.Rand) string {
		return oneOf(r, "[CLS]", "[SEP]", "[UNK]", "[MASK]", "<|endoftext|>", "<|startoftext|>", "<|im_start|>", "<|im_end|>", "<|", "|>", "▁", "##", "</w>", "Ġ")
	},
	func(r *rand.Rand) string {
		return oneOf(r, "the", "The", "claim", "president", "U.S.", "1984", "-LRB-", "Québec", "\u00e9", "e\u0301")
	},
}

func oneOf(r *rand.Rand, from ...string) string { return from[r.IntN(len(from))] }

// randomText mixes a few alphabets, some of them in long runs.
func randomText(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(12) {
		part := alphabets[r.IntN(len(alphabets))]
		times := 1 + r.IntN(6)
		if r.IntN(20) == 0 {
			times = r.IntN(300)
		}
		for range times {
			b.WriteString(part(r))
		}
		if r.IntN(2) == 0 {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// Every code point beside letters, digits, marks and punctuation; of the large
// blocks of ideographs, of private use and of nothing yet, a sample.
func TestJudgeEveryCodePoint(t *testing.T) {
	python := reference(t)
	var texts []string
	var b strings.Builder
	for r := range rune(unicode.MaxRune + 1) {
		if !utf8.ValidRune(r) || unicode.Is(large, r) && r%0x20 != 0 && r%0x20 != 0x1f {
			continue
		}
		c := string(r)
		b.WriteString("a" + c + "1" + c + "\u0323\u0301" + c + "." + c + "\u0334 ")
		if b.Len() > 200 {
			texts = append(texts, b.String())
			b.Reset()
		}
	}
	for name := range files {
		t.Run(name, func(t *testing.T) { hold(t, python, realFile(t, name), question{Texts: texts}) })
	}
}

// large are the blocks that are sampled.
var large = table(0x3400, 0x4dbf, 0x4e00, 0x9fff, 0xac00, 0xd7a3, 0xe000, 0xf8ff, 0x17000, 0x18aff, 0x20000, 0xdffff, 0xe0200, unicode.MaxRune)
