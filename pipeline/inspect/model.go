package inspect

import (
	"context"

	"pipe/featurize"
	"pipe/onnx"
)

// explainModel explains an ONNX file: a trained expert, an encoder, or else a policy.
func explainModel(ctx context.Context, path string, o Options) (Explanation, error) {
	m, err := onnx.ReadFile(path)
	if err != nil {
		return explainPolicy(ctx, path, o)
	}
	about := m.Metadata()
	switch about["pipe.kind"] {
	case featurize.EncoderKind:
		return explainEncoderFile(path, m)
	case "expert":
		return explainExpert(path, m, about)
	}
	return explainPolicy(ctx, path, o)
}
