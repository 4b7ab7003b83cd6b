package featurize

import (
	"strings"
	"testing"

	"pipe/onnx"
	"pipe/onnx/hf"
)

// madeOf is a table of one number per token.
func madeOf(t *testing.T, tokens int64, input string) MadeText {
	t.Helper()
	g := onnx.NewGraph("encoder")
	ids := g.Input(input, onnx.Int64, onnx.Shape{onnx.Sym("batch"), onnx.Sym("sequence")})
	table := g.Const(onnx.Float32s([]int64{tokens, 1}, make([]float32, tokens)))
	g.Output(hf.SentenceEmbedding, g.ReduceSum(g.Gather(table, ids, 0), false, 1))
	graph, err := g.Build(onnx.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	file := `{"version": "1.0", "pre_tokenizer": {"type": "BertPreTokenizer"}, "model": {"type": "WordPiece", "unk_token": "[UNK]",
		"continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": {"[UNK]": 0, "a": 1, "b": 2}}}`
	return MadeText{Name: "made", Graph: graph, Tokenizer: []byte(file), Head: hf.Head{Pooling: hf.PoolModel}, MaxLength: 9, Vocab: tokens}
}

// A model that was made is the one that is read from its file; parts that do not fit are an error.
func TestNewTextModel(t *testing.T) {
	m, err := NewTextModel(madeOf(t, 3, "input_ids"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := m.Encoder()
	if err != nil {
		t.Fatal(err)
	}
	if read, err := ParseTextModel(file); err != nil || read.Digest() != m.Digest() || read.Name != "made" || read.MaxLength != 9 {
		t.Errorf("read %+v: %v", read, err)
	}
	for want, made := range map[string]MadeText{
		"the tokenizer has ids up to 2": madeOf(t, 2, "input_ids"),
		"the graph has inputs words":    madeOf(t, 3, "words"),
		"must be positive":              {},
		`model.type: model "Other" is not`: func() MadeText {
			m := madeOf(t, 3, "input_ids")
			m.Tokenizer = []byte(strings.Replace(string(m.Tokenizer), "WordPiece", "Other", 1))
			return m
		}(),
	} {
		if _, err := NewTextModel(made); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, expected %q", err, want)
		}
	}
}
