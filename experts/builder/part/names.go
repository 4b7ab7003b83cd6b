package part

import (
	"errors"
	"fmt"
)

// AdviceName is the name of a level of advice in inputs and errors, such as `advice "passages"`.
func AdviceName(level string) string { return fmt.Sprintf("advice %q", level) }

// ExpertName is the name of an expert in inputs and errors, such as `expert "vit"`.
func ExpertName(expert string) string { return fmt.Sprintf("expert %q", expert) }

// maxFolds is the largest number of folds of Build.CrossFit. More folds are surely a mistake.
const maxFolds = 100

// ErrNoInstances is the error of a source without instances.
var ErrNoInstances = errors.New("there are no instances")
