package hf

import "pipe/onnx"

// distilConfig is the config.json of model_type distilbert.
type distilConfig struct {
	Layers       int64  `json:"n_layers"`
	Heads        int64  `json:"n_heads"`
	Hidden       int64  `json:"dim"`
	Intermediate int64  `json:"hidden_dim"`
	Vocab        int64  `json:"vocab_size"`
	Positions    int64  `json:"max_position_embeddings"`
	Activation   string `json:"activation"`
}

// buildDistilBERT is BERT (Sanh et al., 2019) with other names and without
// token_type_ids.
func buildDistilBERT(folder string, w *weights, o Options) (*onnx.Model, error) {
	c := distilConfig{Activation: "gelu"}
	if err := readJSON(folder, configFile, &c); err != nil {
		return nil, err
	}
	b, err := newBERT(bertConfig{
		Layers: c.Layers, Heads: c.Heads, Hidden: c.Hidden, Intermediate: c.Intermediate, Vocab: c.Vocab,
		Positions: c.Positions, Types: 1, Epsilon: 1e-12, Activation: c.Activation, PositionType: "absolute",
	}, bertNames{
		prefix: "distilbert.", layer: "transformer.layer.%d.",
		projections: projections{query: "attention.q_lin", key: "attention.k_lin", value: "attention.v_lin"},
		attended:    "attention.out_lin", attendedNorm: "sa_layer_norm",
		inner: "ffn.lin1", outer: "ffn.lin2", outerNorm: "output_layer_norm",
	}, w)
	if err != nil {
		return nil, err
	}
	ids, mask := textInput(b.g, "input_ids"), textInput(b.g, "attention_mask")
	return b.build(ids, mask, []*onnx.Value{b.positionVectors(ids)}, o)
}
