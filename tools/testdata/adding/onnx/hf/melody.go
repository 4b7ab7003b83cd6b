package hf

import (
	"fmt"

	"pipe/onnx"
)

// TowerMelody is the tower of melodies.
const TowerMelody Tower = "melody"

// The input and the output of encoders of melodies.
const (
	NoteCounts   = "note_counts"   // float32 [batch, 7]
	MelodyEmbeds = "melody_embeds" // float32 [batch, width]
)

func describeMelody(string, *Config) error { return nil }

// buildMelody sums a row of a table per note.
func buildMelody(folder string, w *weights, _ Options) (*onnx.Model, error) {
	var c struct {
		Width int64 `json:"hidden_size"`
	}
	if err := readJSON(folder, configFile, &c); err != nil {
		return nil, err
	}
	if err := checkSizes(map[string]int64{"hidden_size": c.Width}); err != nil {
		return nil, fmt.Errorf("%s: %w", configFile, err)
	}
	g := onnx.NewGraph("encoder")
	counts := g.Input(NoteCounts, onnx.Float32, onnx.Shape{batch, onnx.Fix(7)})
	g.Output(MelodyEmbeds, g.MatMul(counts, g.NamedConst("notes.weight", w.get("notes.weight", 7, c.Width))))
	if w.err != nil {
		return nil, w.err
	}
	return g.Build(onnx.BuildOptions{})
}
