package hf

import (
	"fmt"

	"pipe/onnx"
)

// bagOfWords is the config.json of model_type bag_of_words: a token's hidden state is its row of a table.
type bagOfWords struct {
	Vocab  int64 `json:"vocab_size"`
	Hidden int64 `json:"hidden_size"`
}

func buildBagOfWords(folder string, w *weights, o Options) (*onnx.Model, error) {
	var c bagOfWords
	if err := readJSON(folder, configFile, &c); err != nil {
		return nil, err
	}
	if err := checkSizes(map[string]int64{"vocab_size": c.Vocab, "hidden_size": c.Hidden}); err != nil {
		return nil, fmt.Errorf("%s: %w", configFile, err)
	}
	g := onnx.NewGraph("encoder")
	ids, mask := textInput(g, "input_ids"), textInput(g, "attention_mask")
	x := g.Gather(g.NamedConst("words.weight", w.get("words.weight", c.Vocab, c.Hidden)), ids, 0)
	if o.Head == nil {
		g.Output(HiddenStates, x)
	} else {
		g.Output(SentenceEmbedding, o.Head.apply(g, x, mask))
	}
	if w.err != nil {
		return nil, w.err
	}
	return g.Build(onnx.BuildOptions{})
}
