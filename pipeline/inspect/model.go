package inspect

import (
	"context"

	"pipe/featurize"
	"pipe/internal/storage"
	"pipe/models/cascade"
	"pipe/onnx"
)

// explainModel explains an ONNX file: a trained expert, an encoder, a cascade, or else a policy.
func explainModel(ctx context.Context, at storage.Location, o Options) (Explanation, error) {
	path, err := at.Fetch(ctx)
	if err != nil {
		return nil, err
	}
	m, err := onnx.ReadFile(path)
	if err != nil {
		return explainPolicy(ctx, at, o)
	}
	about := m.Metadata()
	switch about["pipe.kind"] {
	case featurize.EncoderKind:
		return explainEncoderFile(at.String(), m)
	case cascade.Kind:
		return explainCascade(at.String(), m)
	case "expert":
		return explainExpert(at.String(), m, about)
	}
	return explainPolicy(ctx, at, o)
}
