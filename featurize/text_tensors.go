package featurize

import (
	"context"
	"fmt"

	"pipe/onnx"
	"pipe/onnx/hf"
)

// EncodeTensors runs the graph on its own inputs, such as token ids that another program made. Types and shapes must be
// those of the graph. The result has a vector per row. More tokens than the encoder was made for, a token that the model
// does not have, and a vector that is not finite, is a *RowError.
func (e *TextEncoder) EncodeTensors(ctx context.Context, in map[string]*onnx.Tensor) ([]float32, error) {
	ids := in[textInputs[0]]
	if ids == nil || len(ids.Shape) != 2 || ids.Shape[0] < 1 || ids.Shape[1] < 1 {
		return nil, fmt.Errorf("encode tensors: %s must be token ids [batch, sequence]", textInputs[0])
	}
	if most := e.tokens.MaxLength; most > 0 && ids.Shape[1] > int64(most) {
		return nil, fmt.Errorf("encode tensors: %w", &RowError{0, fmt.Errorf("%d tokens, the encoder was made for at most %d", ids.Shape[1], most)})
	}
	for i, id := range ids.Int64s() {
		if id < 0 || e.vocab > 0 && id >= e.vocab {
			return nil, fmt.Errorf("encode tensors: %w", &RowError{i / int(ids.Shape[1]), fmt.Errorf("token id %d: the model has the tokens 0 to %d", id, e.vocab-1)})
		}
	}
	out, err := e.session.Run(ctx, in)
	if err != nil {
		return nil, fmt.Errorf("encode tensors: %w", err)
	}
	return vectorsOf(out[hf.SentenceEmbedding], int(ids.Shape[0]), e.dim)
}
