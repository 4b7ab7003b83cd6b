package expert

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"pipe/experts/builder/part"
)

// classPrompts returns the texts about the classes: every template with every name
// in it, template by template.
func classPrompts(templates, names []string) []string {
	texts := make([]string, 0, len(templates)*len(names))
	for _, t := range templates {
		for _, name := range names {
			texts = append(texts, inTemplate(t, name))
		}
	}
	return texts
}

// checkPrompts rejects prompts that a model would truncate, perhaps before the
// name; excess counts the tokens over its limit.
func checkPrompts(templates, names []string, excess func(text string) int) error {
	var first error
	long := 0
	for _, t := range templates {
		for _, name := range names {
			n := excess(inTemplate(t, name))
			if n == 0 {
				continue
			}
			if long++; first == nil {
				first = fmt.Errorf("template %q with class %q has %d tokens more than the model takes", t, name, n)
			}
		}
	}
	if long > 1 {
		return fmt.Errorf("%w (the first of %d such prompts)", first, long)
	}
	return first
}

// checkDistinct rejects weights, names x dim, that are equal for all classes
// though their names differ: the model ignores the texts.
func checkDistinct(weights []float32, names []string, dim int) error {
	if !slices.ContainsFunc(names, func(name string) bool { return name != names[0] }) {
		return nil
	}
	for row := range slices.Chunk(weights, dim) {
		for i, v := range row {
			if math.Abs(float64(v-weights[i])) > coinciding {
				return nil
			}
		}
	}
	return fmt.Errorf("the texts of all %d classes have the same vector: check that the tokenizer is the model's own", len(names))
}

// coinciding is the largest difference between components of equal directions, by rounding.
const coinciding = 1e-6

func inTemplate(template, name string) string {
	return strings.Replace(template, part.Placeholder, name, 1)
}

// classWeights returns, names x dim, the weights of a classifier that compares an
// image with texts (Radford et al. 2021, section 3.1.4): the vectors of a name in
// all templates are normalised to length 1 and summed in double precision, in the
// order of the templates, and the sum is normalised. A vector or a sum of length 0
// is an error.
func classWeights(templates, names []string, dim int, vector func(text string) []float32) ([]float32, error) {
	weights, sum := make([]float32, 0, len(names)*dim), make([]float64, dim)
	for _, name := range names {
		clear(sum)
		if err := addPrompts(sum, templates, name, vector); err != nil {
			return nil, err
		}
		length := norm(sum)
		if !(length > 0) {
			return nil, fmt.Errorf("the texts of class %q cancel each other out", name)
		}
		for _, v := range sum {
			weights = append(weights, float32(v/length))
		}
	}
	return weights, nil
}

// addPrompts adds the direction of every prompt of a name to sum. A family that
// begins with the templates of another one can continue the other's sum.
func addPrompts(sum []float64, templates []string, name string, vector func(text string) []float32) error {
	v := make([]float64, len(sum))
	for _, t := range templates {
		text := inTemplate(t, name)
		for i, x := range vector(text) {
			v[i] = float64(x)
		}
		length := norm(v)
		if !(length > 0) {
			return fmt.Errorf("the vector of %q has no direction", text)
		}
		for i, x := range v {
			sum[i] += x / length
		}
	}
	return nil
}

// norm is the Euclidean length of a vector.
func norm(v []float64) float64 {
	var sum float64
	for _, x := range v {
		sum += x * x
	}
	return math.Sqrt(sum)
}
