package hf

import "pipe/onnx"

// buildRoBERTa is BERT (Liu et al., 2019; XLM-R, CamemBERT) with two differences. Positions count from one past the
// padding token's id and skip padding. There are no token_type_ids, because it takes single texts.
func buildRoBERTa(folder string, w *weights, o Options) (*onnx.Model, error) {
	c := bertConfig{Epsilon: 1e-12, Activation: "gelu", PositionType: "absolute", Types: 1}
	if err := readJSON(folder, configFile, &c); err != nil {
		return nil, err
	}
	about, err := readConfig(folder)
	if err != nil {
		return nil, err
	}
	b, err := newBERT(c, layersOfBERT("roberta."), w)
	if err != nil {
		return nil, err
	}
	g, ids, mask := b.g, textInput(b.g, "input_ids"), textInput(b.g, "attention_mask")
	padding := g.Scalar(onnx.Int64, float64(about.PadID))
	token := g.Cast(g.Not(g.Equal(ids, padding)), onnx.Int64)
	at := g.Add(g.Mul(g.CumSum(token, 1, false, false), token), padding)
	positions := g.Gather(b.tensor("embeddings.position_embeddings.weight", b.Positions, b.Hidden), at, 0)
	first := b.typeVectors(g.Scalar(onnx.Int64, 0))
	return b.build(ids, mask, []*onnx.Value{first, positions}, o)
}
