package policies

import (
	"context"
	"fmt"
	"testing"

	"pipe/featurize"
	"pipe/featurize/tokenizer"
	"pipe/internal/realdata"
	"pipe/onnx"
	"pipe/onnx/ort"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decide/decidetest"
)

// BenchmarkThreads compares runs on one thread each, one run at a time on several threads, and runs that share a pool of
// threads: of a MiniLM on a text of 30 tokens, and of a policy on 384 features.
func BenchmarkThreads(b *testing.B) {
	m, err := featurize.ReadTextModel(realdata.Folder(b, "models", "all-MiniLM-L6-v2"), featurize.DefaultTextModelOptions())
	if err != nil {
		b.Fatal(err)
	}
	encoder, err := m.Graph.Marshal()
	if err != nil {
		b.Fatal(err)
	}
	plain, err := decidetest.Policy(384, 128).Export()
	if err != nil {
		b.Fatal(err)
	}
	decider, err := plain.Marshal()
	if err != nil {
		b.Fatal(err)
	}
	ids := m.Tokenizer.Encode(words(1)[0], tokenizer.Options{Special: true})
	var tokens, ones []int64
	for _, id := range ids.IDs {
		tokens, ones = append(tokens, int64(id)), append(ones, 1)
	}
	shape := []int64{1, int64(len(tokens))}
	text := map[string]*onnx.Tensor{
		"input_ids": onnx.Int64s(shape, tokens), "attention_mask": onnx.Int64s(shape, ones), "token_type_ids": onnx.Int64s(shape, make([]int64, len(tokens))),
	}
	features := map[string]*onnx.Tensor{"features": onnx.Float32s([]int64{1, 384}, make([]float32, 384))}
	for _, c := range []struct {
		name  string
		model []byte
		in    map[string]*onnx.Tensor
	}{{"encoder", encoder, text}, {"policy", decider, features}} {
		for _, t := range []struct{ threads, callers int }{{1, 1}, {1, 2}, {2, 1}, {2, 2}} {
			b.Run(fmt.Sprintf("%s/threads=%d/callers=%d", c.name, t.threads, t.callers), func(b *testing.B) {
				rt := orttest.Open(b, 1)
				o := rt.SessionOptions()
				o.Threads = t.threads
				s, err := rt.Session(c.model, o)
				if err != nil {
					b.Fatal(err)
				}
				defer s.Close()
				perText(b, 1, func() { concurrently(b, t.callers, func() error { return once(s, c.in) }) })
			})
		}
	}
}

func once(s *ort.Session, in map[string]*onnx.Tensor) error {
	_, err := s.Run(context.Background(), in)
	return err
}
