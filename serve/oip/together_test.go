package oip

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"pipe/internal/storage"
	"pipe/onnx"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decide"
	"pipe/pipeline/decide/decidetest"
	"pipe/serve/policies"
)

// Requests that run together are answered as pipe decide --scores answers their rows, bit for bit.
func TestTogetherAsAlone(t *testing.T) {
	const width, rows = 384, 120
	folder := t.TempDir()
	write(t, folder, "wide", decidetest.Policy(width, 64))
	o := policies.DefaultSettings()
	o.Paths, o.Workers, o.Poll = []string{folder}, 1, 0
	set, err := policies.Open(t.Context(), o, orttest.Open(t, 1), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	a, err := New(Options{Policies: set, Settings: DefaultSettings()})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	a.Register(mux)
	r := rand.New(rand.NewPCG(9, 9))
	x := make([]float32, rows*width)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	want := streamed(t, filepath.Join(folder, "wide.onnx"), x, width)
	head := fmt.Sprintf(`{"inputs":[{"name":"features","shape":[1,%d],"datatype":"FP32","parameters":{"binary_data_size":%d}}],"outputs":[{"name":"scores"}]}`, width, 4*width)
	var wait sync.WaitGroup
	for i := range rows {
		wait.Go(func() {
			body := append([]byte(head), onnx.Float32s([]int64{width}, x[i*width:(i+1)*width]).Raw...)
			for range 10 {
				r := httptest.NewRequest("POST", "/v2/models/wide/infer", bytes.NewReader(body))
				r.Header.Set(headerLength, strconv.Itoa(len(head)))
				w := httptest.NewRecorder()
				mux.ServeHTTP(w, r)
				if w.Code != 200 {
					t.Errorf("row %d: %d %s", i, w.Code, w.Body)
					return
				}
				got := float32s(t, reply{body: w.Body.Bytes()}.decode(t).Outputs[0].Data)
				for k, v := range got {
					if v != want[i][k] {
						t.Errorf("row %d: score %d is %g, not %g", i, k, v, want[i][k])
						return
					}
				}
			}
		})
	}
	wait.Wait()
}

// streamed are the scores that pipe decide --scores writes for rows of features.
func streamed(t testing.TB, path string, x []float32, width int) [][]float32 {
	t.Helper()
	var in, out bytes.Buffer
	for i := range width {
		fmt.Fprintf(&in, "f%d%s", i, map[bool]string{true: "\n", false: ","}[i == width-1])
	}
	for i, v := range x {
		in.WriteString(strconv.FormatFloat(float64(v), 'g', -1, 32))
		in.WriteString(map[bool]string{true: "\n", false: ","}[i%width == width-1])
	}
	o := decide.DefaultStreamOptions()
	o.Policy, o.Scores, o.InFormat, o.OutFormat = storage.File(path), true, "csv", "csv"
	if _, err := decide.Stream(t.Context(), orttest.Open(t, 1), o, &in, &out, nil); err != nil {
		t.Fatal(err)
	}
	table, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var all [][]float32
	for _, row := range table[1:] {
		var scores []float32
		for _, text := range row[len(row)-9:] {
			v, err := strconv.ParseFloat(text, 32)
			if err != nil {
				t.Fatal(table[0], err)
			}
			scores = append(scores, float32(v))
		}
		all = append(all, scores)
	}
	return all
}
