package inspect

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"pipe/costs"
	"pipe/pipeline/decide"
)

// explainJSON explains the policy beside its description, or the encoder of a table.
func explainJSON(ctx context.Context, path string, o Options) (Explanation, error) {
	d, err := decide.ReadDescription(path)
	var other *costs.DataError
	switch {
	case errors.As(err, &other):
		return explainEncoder(ctx, path, o)
	case err != nil:
		return nil, err
	}
	file, beside := strings.CutSuffix(path, decide.DescriptionFile(""))
	if !beside {
		return nil, &costs.DataError{File: path, Msg: "is the description of a policy, but its name does not say of which: " + decide.DescriptionFile("policy.onnx") + " describes policy.onnx"}
	}
	same, err := d.Describes(file)
	if err != nil {
		return nil, fmt.Errorf("inspect description %q: %w", path, err)
	}
	if !same {
		return nil, &costs.DataError{File: path, Msg: fmt.Sprintf("describes another file than %q: the digests of their bytes differ", file)}
	}
	return explainPolicy(ctx, file, o)
}
