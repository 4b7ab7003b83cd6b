package featurize

import (
	"context"
	"fmt"

	"pipe/onnx"
)

// EncodeTensors runs the graph on its own input, pixels. Type and shape must be those of the graph. The result has a vector
// per row. A vector that is not finite is a *RowError.
func (e *ImageEncoder) EncodeTensors(ctx context.Context, in map[string]*onnx.Tensor) ([]float32, error) {
	pixels := in[PixelsInput]
	if pixels == nil || len(pixels.Shape) != 4 || pixels.Shape[0] < 1 {
		return nil, fmt.Errorf("encode tensors: %s must be pixels [batch, height, width, 3]", PixelsInput)
	}
	out, err := e.session.Run(ctx, in)
	if err != nil {
		return nil, fmt.Errorf("encode tensors: %w", err)
	}
	return vectorsOf(out[ImageEmbedding], int(pixels.Shape[0]), e.dim)
}
