package features

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pipe/costs"
	"pipe/featurize"
	"pipe/internal/storage"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/stage"
)

// sentences are texts of some words, which follow Zipf's law.
func sentences(n, words int) []string {
	r := rand.New(rand.NewPCG(3, 4))
	zipf := rand.NewZipf(r, 1.2, 4, 4999)
	texts := make([]string, n)
	for i := range texts {
		list := make([]string, words)
		for j := range list {
			spell := rand.New(rand.NewPCG(zipf.Uint64(), 1))
			for range 2 + spell.IntN(8) {
				list[j] += string(rune('a' + spell.IntN(26)))
			}
		}
		texts[i] = strings.Join(list, " ")
	}
	return texts
}

// textsIn writes a table of texts.
func textsIn(t testing.TB, texts []string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "texts.csv")
	if err := os.WriteFile(path, []byte("id,question\n1,"+strings.Join(texts, "\n1,")+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func fitted(t testing.TB, texts []string, dim int) (TextOptions, *TextReport) {
	t.Helper()
	o := DefaultTextOptions()
	o.In, o.Column, o.Out, o.Lexical.Dim = storage.File(textsIn(t, texts)), "question", storage.File(filepath.Join(t.TempDir(), "encoder.onnx")), dim
	r, err := RunTexts(t.Context(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	return o, r
}

// The file is an encoder of texts with the digest of the report, also after it was written once more.
func TestFittedEncoderIsRead(t *testing.T) {
	texts := sentences(200, 12)
	o, r := fitted(t, texts, 16)
	m, err := featurize.ReadTextModel(o.Out.String(), featurize.DefaultTextModelOptions())
	if err != nil {
		t.Fatal(err)
	}
	if m.Digest() != r.Encoder.Digest || m.Dim() != 16 || r.Texts != 200 || r.Encoder.Name != LexicalName {
		t.Errorf("the file has digest %s, %d numbers; the report %+v", m.Digest(), m.Dim(), r)
	}
	again, err := m.Encoder()
	if err != nil {
		t.Fatal(err)
	}
	if copied, err := featurize.ParseTextModel(again); err != nil || copied.Digest() != m.Digest() {
		t.Errorf("a copy has another digest: %v", err)
	}
	e, err := m.Open(orttest.Open(t, 0), 2)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	texts = append(texts, "", "\x00", "unseen ωords", strings.Repeat("long ", 3000))
	all, one := make([]float32, len(texts)*16), make([]float32, 16)
	if err := e.Encode(t.Context(), all, texts); err != nil {
		t.Fatal(err)
	}
	for n, text := range texts { // alone, a text has the same bits
		if err := e.Encode(t.Context(), one, []string{text}); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(one, all[n*16:(n+1)*16]) {
			t.Errorf("%.40q has another vector alone", text)
		}
	}
}

// A fit that fails leaves the file of an earlier one.
func TestFailedFitKeepsTheFile(t *testing.T) {
	o, _ := fitted(t, sentences(100, 8), 8)
	before, err := os.ReadFile(o.Out.String())
	if err != nil {
		t.Fatal(err)
	}
	o.Lexical.Dim = 101
	var option *stage.OptionError
	if _, err := RunTexts(t.Context(), o, nil); !errors.As(err, &option) {
		t.Errorf("too many components: %v", err)
	}
	o.In = storage.File(textsIn(t, []string{"", ""}))
	var data *costs.DataError
	if _, err := RunTexts(t.Context(), o, nil); !errors.As(err, &data) || data.Column != "question" {
		t.Errorf("no texts: %v", err)
	}
	if after, err := os.ReadFile(o.Out.String()); err != nil || string(after) != string(before) {
		t.Errorf("the file has changed: %v", err)
	}
}

// cpuTime is what all threads of the process have used.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkLexicalEncoder encodes texts of 40 words on one core, from texts to vectors: many in a call, and one.
func BenchmarkLexicalEncoder(b *testing.B) {
	texts := sentences(2048, 40)
	for _, dim := range []int{64, 256} {
		o, _ := fitted(b, texts, dim)
		e, err := featurize.OpenTextEncoder(orttest.Open(b, 0), o.Out.String(), featurize.TextEncoderOptions{Workers: 1})
		if err != nil {
			b.Fatal(err)
		}
		defer e.Close()
		for name, n := range map[string]int{"many": len(texts), "one": 1} {
			b.Run(map[int]string{64: "dim=64/", 256: "dim=256/"}[dim]+name, func(b *testing.B) {
				dst, began := make([]float32, n*dim), cpuTime(b)
				for i := 0; b.Loop(); i++ {
					from := i % (len(texts) - n + 1)
					if err := e.Encode(b.Context(), dst, texts[from:from+n]); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/1000/float64(b.N*n), "us/text")
				b.ReportMetric(float64((cpuTime(b)-began).Nanoseconds())/1000/float64(b.N*n), "cpu-us/text")
			})
		}
	}
}
