package hf

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
)

// unlearnedScale is the upper limit of CLIP's scale, which is reached in training (Radford et al., 2021, section 2.5).
const unlearnedScale = 100

// LogitScale is the factor by which a model of two towers multiplies cosines to get logits: exp(logit_scale) of its
// weights. For a folder with only exports it is 100, the value at the end of CLIP's training.
func LogitScale(folder string) (float64, error) {
	w, err := openWeights(folder)
	if _, found := ExportOf(folder, TowerVision); found && errors.Is(err, fs.ErrNotExist) {
		return unlearnedScale, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read logit scale of %q: %w", folder, err)
	}
	defer w.close()
	t, err := w.read("logit_scale", []int64{})
	if err != nil {
		return 0, fmt.Errorf("read logit scale of %q: %w", folder, err)
	}
	scale := math.Exp(float64(t.Float32s()[0]))
	if !(scale > 0) || math.IsInf(scale, 0) {
		return 0, fmt.Errorf("read logit scale of %q: %v", filepath.Join(folder, wholeFile), scale)
	}
	return scale, nil
}
