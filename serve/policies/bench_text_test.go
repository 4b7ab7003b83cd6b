package policies

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pipe/costs"
	"pipe/featurize"
	"pipe/internal/realdata"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decide/decidetest"
)

// words are texts of about 30 tokens.
func words(n int) []string {
	r := rand.New(rand.NewPCG(2, 9))
	list := strings.Fields("the a river mountain city people long small water history music where when built found world old new light house")
	out := make([]string, n)
	for i := range out {
		var words []string
		for range 28 {
			words = append(words, list[r.IntN(len(list))])
		}
		out[i] = strings.Join(words, " ")
	}
	return out
}

// processor is the processor time that the process has used.
func processor(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// perText reports texts per second, and the processor time of one, which other programs on the machine change less.
func perText(b *testing.B, each int, run func()) {
	start := processor(b)
	run()
	texts := float64(each) * float64(b.N)
	b.ReportMetric(texts/b.Elapsed().Seconds(), "texts/s")
	b.ReportMetric(float64((processor(b)-start).Microseconds())/1000/texts, "cpu-ms/text")
}

// BenchmarkText encodes and decides on texts of 30 tokens by a MiniLM: alone, the encoder's own pass, and by callers at the
// same time.
func BenchmarkText(b *testing.B) {
	model := realdata.Folder(b, "models", "all-MiniLM-L6-v2")
	path := filepath.Join(b.TempDir(), "p.onnx")
	if err := decidetest.WriteEncoderPolicy(path, 384, costs.FeatureSource{}, ""); err != nil {
		b.Fatal(err)
	}
	texts := words(256)
	b.Run("encoder", func(b *testing.B) {
		e, err := featurize.OpenTextEncoder(orttest.Open(b, 1), model, featurize.TextEncoderOptions{Workers: 1})
		if err != nil {
			b.Fatal(err)
		}
		defer e.Close()
		dst := make([]float32, 384)
		perText(b, 1, func() {
			for b.Loop() {
				if err := e.Encode(context.Background(), dst, texts[:1]); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
	b.Run("encoder of 256", func(b *testing.B) {
		e, err := featurize.OpenTextEncoder(orttest.Open(b, 1), model, featurize.TextEncoderOptions{})
		if err != nil {
			b.Fatal(err)
		}
		defer e.Close()
		dst := make([]float32, 256*384)
		perText(b, 256, func() {
			for b.Loop() {
				if err := e.Encode(context.Background(), dst, texts); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
	for _, delay := range []time.Duration{0, 2 * time.Millisecond} {
		s := settings(path)
		s.Encoders, s.BatchDelay = map[string]string{"p": model}, delay
		set := open(b, s)
		for _, callers := range []int{1, 8, 64} {
			b.Run(fmt.Sprintf("delay=%v/callers=%d", delay, callers), func(b *testing.B) {
				perText(b, 1, func() {
					concurrently(b, callers, func() error {
						p, err := set.Acquire("")
						if err != nil {
							return err
						}
						defer p.Release()
						x, err := p.Encode(context.Background(), Inputs{Texts: texts[rand.IntN(256):][:1]})
						if err == nil {
							_, err = p.Decide(context.Background(), nil, x, 1)
						}
						return err
					})
				})
			})
		}
	}
}
