package hf

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
)

// unlearnedScale is what CLIP's scale is kept below, and ends at, in training
// (Radford et al., 2021, section 2.5).
const unlearnedScale = 100

// LogitScale is what a model of two towers multiplies cosines with to get
// logits: exp(logit_scale) of its weights, or 100, where CLIP's training ends,
// of a folder that holds exports alone.
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
