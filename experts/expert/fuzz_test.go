package expert

import (
	"slices"
	"strconv"
	"testing"

	"pipe/internal/digest"
	"pipe/internal/fuzztest"
	"pipe/internal/storage"
)

// FuzzClassWeightFile: a file of class weights that is not the whole of what was written counts as absent, and what is
// written is read back.
func FuzzClassWeightFile(f *testing.F) {
	f.Add([]byte("pipe class weights"), []byte("abcdefgh"), uint8(2), uint8(1))
	f.Add([]byte{}, []byte{}, uint8(0), uint8(3))
	folder := f.TempDir()
	f.Fuzz(func(t *testing.T, b, numbers []byte, classes, dim uint8) {
		w := newClassWeightFile(folder, digest.Of([]byte("basis")), int(classes%8))
		file, n := fuzztest.File(w.path), int(classes%8)*int(dim)
		file.Write(t, b)
		if got, err := w.Read(int(dim)); err != nil || got != nil {
			t.Fatalf("%q is read as %v (%v)", b, got, err)
		}
		weights := make([]float32, n)
		for i := range min(n, len(numbers)) {
			weights[i] = float32(numbers[i]) / 7
		}
		whole := w.bytes(weights)
		file.Write(t, whole)
		got, err := w.Read(int(dim))
		fuzztest.Same(t, got, weights, err)
		if len(b) > 0 {
			whole[int(b[0])%len(whole)]++
			file.Write(t, whole)
			if got, err := w.Read(int(dim)); err != nil || got != nil {
				t.Fatalf("damaged, it is read as %v (%v)", got, err)
			}
		}
	})
}

// FuzzPrecomputed: a file of answers is an error about the file, or answers under known advice that are judged by a loss, or
// have a known label; written again they are the same.
func FuzzPrecomputed(f *testing.F) {
	f.Add([]byte("id,expert,advice,prediction,loss,fee\na,me,none,cat,0,0.5\na,me,search,dog,1,0\na,you,none,cat,0,0\n"), false, byte(31))
	f.Add([]byte("id,prediction\na,cat\nb,Hund\n"), false, byte(4))
	f.Add([]byte("{\"id\":\"a\",\"loss\":0.25}\n{\"id\":2,\"loss\":1e-3}\n"), true, byte(8))
	f.Add([]byte("id,loss\na,-1\n"), false, byte(8))
	files := fuzztest.TableFiles(f)
	f.Fuzz(func(t *testing.T, b []byte, lines bool, columns byte) {
		cfg := precomputedSettings{ID: "id", As: "me", LabelNames: map[string]string{"Hund": "dog"}}
		for i, c := range []*string{&cfg.Expert, &cfg.Advice, &cfg.Prediction, &cfg.Loss, &cfg.Fee} {
			if columns>>i&1 == 1 {
				*c = []string{"expert", "advice", "prediction", "loss", "fee"}[i]
			}
		}
		if cfg.Prediction == "" && cfg.Loss == "" {
			return
		}
		labels := []string{"cat", "dog"}
		read := func(file string) (*precomputed, error) {
			e := &precomputed{advice: []string{"none", "search"}}
			return e, e.read(t.Context(), storage.File(file), &cfg, labels, nil)
		}
		file := files(lines)
		e, err := read(file.Write(t, b))
		if err != nil {
			file.Blames(t, err)
			return
		}
		var rows []map[string]any
		for key, p := range e.answers {
			known := cfg.Prediction == "" || cfg.Loss != "" || slices.Contains(labels, p.Label)
			if !e.Takes(key.advice) || !known || !(p.Loss >= 0) || !(p.Fee >= 0) || p.Loss+p.Fee-p.Loss-p.Fee != 0 {
				t.Fatalf("%+v: %+v", key, p)
			}
			number := func(v float32) string { return strconv.FormatFloat(float64(v), 'g', -1, 32) }
			rows = append(rows, map[string]any{
				"id": key.id, "expert": "me", "advice": key.advice, "prediction": p.Label, "loss": number(p.Loss), "fee": number(p.Fee),
			})
		}
		again, err := read(files(true).WriteLines(t, rows))
		fuzztest.Same(t, again.answers, e.answers, err)
	})
}
