package expert

import "fmt"

// The precisions of a model's weights and arithmetic.
const (
	float32Precision = "float32"
	float16Precision = "float16"
)

func checkPrecision(p string) error {
	if p != float32Precision && p != float16Precision {
		return fmt.Errorf("precision is %q; known are %s, %s", p, float32Precision, float16Precision)
	}
	return nil
}
