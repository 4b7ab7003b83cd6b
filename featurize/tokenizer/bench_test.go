package tokenizer

import "testing"

// BenchmarkEncode measures one core over the texts of FEVER's pages.
func BenchmarkEncode(b *testing.B) {
	var texts []string
	size := 0
	for _, line := range readLines(b, "fever", "wiki-pages-001.jsonl") {
		text := parsed[struct{ Text string }](b, line).Text
		texts = append(texts, text)
		size += len(text)
	}
	for _, model := range []struct{ name, file string }{{"wordpiece", bert}, {"bpe-clip", clip}, {"bpe-qwen", qwen}, {"unigram", deb}} {
		tok := load(b, model.file)
		b.Run(model.name, func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				for _, text := range texts {
					tok.Encode(text, Options{Special: true})
				}
			}
		})
	}
}
