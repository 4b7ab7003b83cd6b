package expert

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"pipe/experts/builder/parttest"

	"pgregory.net/rapid"
)

// wordVectors returns the vectors of parttest.Words, times a factor.
func wordVectors(factor float32) func(string) []float32 {
	e := &parttest.Words{}
	return func(text string) []float32 {
		v := e.Vector(text)
		for i := range v {
			v[i] *= factor
		}
		return v
	}
}

// drawClasses draws distinct templates and names, of which some may be equal.
func drawClasses(r *rapid.T) (templates, names []string) {
	for i := range rapid.IntRange(1, 8).Draw(r, "templates") {
		templates = append(templates, fmt.Sprintf("way%d of a {}.", i))
	}
	for range rapid.IntRange(1, 6).Draw(r, "classes") {
		names = append(names, fmt.Sprintf("thing%d", rapid.IntRange(0, 9).Draw(r, "name")))
	}
	return templates, names
}

func mustWeigh(r *rapid.T, templates, names []string, vector func(string) []float32) []float32 {
	w, err := classWeights(templates, names, parttest.WordsDim, vector)
	if err != nil {
		r.Fatal(err)
	}
	return w
}

// furthest is the largest difference of two vectors.
func furthest(a, b []float32) float64 {
	var worst float64
	for i := range a {
		worst = max(worst, math.Abs(float64(a[i])-float64(b[i])))
	}
	return worst
}

// TestClassWeightLaws draws classes and templates. Class weights have length 1;
// those of one template are its vectors' directions; classes that are permuted
// permute their weights, bit for bit; neither the lengths of the vectors nor the
// order of the templates matter beyond rounding.
func TestClassWeightLaws(t *testing.T) {
	vector := wordVectors(1)
	rapid.Check(t, func(r *rapid.T) {
		templates, names := drawClasses(r)
		w := mustWeigh(r, templates, names, vector)
		one := mustWeigh(r, templates[:1], names, vector)
		moved := rapid.Permutation(names).Draw(r, "moved")
		permuted := mustWeigh(r, templates, moved, vector)
		for c, name := range names {
			row := w[c*parttest.WordsDim : (c+1)*parttest.WordsDim]
			if length := norm(doubles(row)); math.Abs(length-1) > 1e-6 {
				r.Errorf("weights of length %v", length)
			}
			single := doubles(vector(inTemplate(templates[0], name)))
			length := norm(single)
			for i := range single {
				if one[c*parttest.WordsDim+i] != float32(single[i]/length) {
					r.Fatal("one template is not its direction")
				}
			}
			at := slices.Index(moved, name)
			if !slices.Equal(permuted[at*parttest.WordsDim:(at+1)*parttest.WordsDim], row) {
				r.Error("permuted classes have other weights")
			}
		}
		if d := furthest(w, mustWeigh(r, templates, names, wordVectors(1000))); d > 1e-6 {
			r.Errorf("longer vectors change weights by %v", d)
		}
		if d := furthest(w, mustWeigh(r, rapid.Permutation(templates).Draw(r, "templates' order"), names, vector)); d > 1e-6 {
			r.Errorf("another order of templates changes weights by %v", d)
		}
	})
}

// TestFamiliesNest: the sum of a family is that of its beginning and the
// directions of its other templates, bit for bit.
func TestFamiliesNest(t *testing.T) {
	vector := wordVectors(3)
	rapid.Check(t, func(r *rapid.T) {
		templates, names := drawClasses(r)
		cut := rapid.IntRange(0, len(templates)).Draw(r, "cut")
		whole, parts := make([]float64, parttest.WordsDim), make([]float64, parttest.WordsDim)
		for _, err := range []error{
			addPrompts(whole, templates, names[0], vector),
			addPrompts(parts, templates[:cut], names[0], vector),
			addPrompts(parts, templates[cut:], names[0], vector),
		} {
			if err != nil {
				r.Fatal(err)
			}
		}
		if !slices.Equal(whole, parts) {
			r.Errorf("%v and %v", whole, parts)
		}
	})
}

func doubles(v []float32) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = float64(x)
	}
	return out
}

func TestClassesWithoutDirection(t *testing.T) {
	for name, c := range map[string]struct {
		templates []string
		vector    func(string) []float32
		want      string
	}{
		"zero":   {[]string{"a {}"}, func(string) []float32 { return []float32{0, 0} }, `the vector of "a cat" has no direction`},
		"cancel": {[]string{"a {}", "no {}"}, func(s string) []float32 { return []float32{float32(len(s)) - 5.5, 0} }, `the texts of class "cat" cancel each other out`},
		"NaN":    {[]string{"a {}"}, func(string) []float32 { return []float32{0, float32(math.NaN())} }, "has no direction"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := classWeights(c.templates, []string{"cat"}, 2, c.vector); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestClassWeightFile reads back what was written, bit for bit. A file that is cut or
// changed anywhere, or was made from something else, counts as absent.
func TestClassWeightFile(t *testing.T) {
	folder, basis := t.TempDir(), classWeightBasis("e", []string{"cat", "dog"}, []string{"a {}"})
	f, weights := newClassWeightFile(folder, basis, 2), []float32{0.6, -0.8, 1, 0, float32(math.Copysign(0, -1)), 1e-30}
	reads := func(what string, f *classWeightFile, dim int, want []float32) {
		t.Helper()
		if got, err := f.Read(dim); err != nil || !slices.EqualFunc(got, want, func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }) {
			t.Errorf("%s: %v, %v", what, got, err)
		}
	}
	reads("before", f, 3, nil)
	if err := f.Write(weights); err != nil {
		t.Fatal(err)
	}
	reads("written", f, 3, weights)
	reads("of another length", f, 2, nil)
	whole := []byte(parttest.Read(t, f.path))
	for at := range whole {
		b := slices.Clone(whole)
		b[at] ^= 0x10
		if err := os.WriteFile(f.path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		reads(fmt.Sprintf("byte %d changed", at), f, 3, nil)
		if err := os.WriteFile(f.path, whole[:at], 0o666); err != nil {
			t.Fatal(err)
		}
		reads(fmt.Sprintf("cut at %d", at), f, 3, nil)
	}
	other := newClassWeightFile(folder, classWeightBasis("e", []string{"cat", "dog"}, []string{"the {}"}), 2)
	if err := os.WriteFile(other.path, whole, 0o666); err != nil {
		t.Fatal(err)
	}
	reads("of another family", other, 3, nil)
}

// TestClassWeightBasis: everything that decides the weights changes the basis.
func TestClassWeightBasis(t *testing.T) {
	seen := make(map[string]bool)
	for _, b := range []string{
		classWeightBasis("e", []string{"cat", "dog"}, []string{"a {}", "the {}"}),
		classWeightBasis("f", []string{"cat", "dog"}, []string{"a {}", "the {}"}),
		classWeightBasis("e", []string{"dog", "cat"}, []string{"a {}", "the {}"}),
		classWeightBasis("e", []string{"cat\" \"dog"}, []string{"a {}", "the {}"}),
		classWeightBasis("e", []string{"cat", "dog"}, []string{"the {}", "a {}"}),
		classWeightBasis("e", []string{"cat", "dog"}, []string{"a {}"}),
	} {
		if seen[b] {
			t.Errorf("%s twice", b)
		}
		seen[b] = true
	}
}

// TestClassesThatCoincide: weights that are the same whatever the name are no
// weights, unless all names are one.
func TestClassesThatCoincide(t *testing.T) {
	same := []float32{0.6, 0.8, 0.6, 0.8, 0.6, 0.8000001}
	if err := checkDistinct(same, []string{"a", "b", "a"}, 2); err == nil || !strings.Contains(err.Error(), "all 3 classes have the same vector") {
		t.Errorf("got %v", err)
	}
	if err := checkDistinct(same, []string{"a", "a", "a"}, 2); err != nil {
		t.Error(err)
	}
	same[5] = 0.7
	if err := checkDistinct(same, []string{"a", "b", "a"}, 2); err != nil {
		t.Error(err)
	}
}
