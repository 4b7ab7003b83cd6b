package inspect

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/pipeline/decide"
)

// explainJSON explains the policy beside its description, or the encoder of a table.
func explainJSON(ctx context.Context, path storage.Location, o Options) (Explanation, error) {
	d, err := decide.ReadDescription(ctx, path)
	var other *costs.DataError
	switch {
	case errors.As(err, &other):
		return explainEncoder(ctx, path, o)
	case err != nil:
		return nil, err
	}
	ending := decide.DescriptionFile(storage.Location{}).String()
	name, beside := strings.CutSuffix(path.Base(), ending)
	if !beside {
		return nil, &costs.DataError{File: path.String(), Msg: "is the description of a policy, but its name does not say of which: " + "policy.onnx" + ending + " describes policy.onnx"}
	}
	file := path.Dir().Join(name)
	same, err := d.Describes(ctx, file)
	if err != nil {
		return nil, fmt.Errorf("inspect description %q: %w", path, err)
	}
	if !same {
		return nil, &costs.DataError{File: path.String(), Msg: fmt.Sprintf("describes another file than %q: the digests of their bytes differ", file)}
	}
	return explainModel(ctx, file, o)
}
