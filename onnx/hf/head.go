package hf

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"pipe/internal/strictjson"
	"pipe/internal/textfile"
	"pipe/onnx"
	"pipe/onnx/rewrite"
)

// The names of outputs.
const (
	HiddenStates      = "last_hidden_state"  // float32 [batch, sequence, width]
	SentenceEmbedding = "sentence_embedding" // float32 [batch, width]
)

// The ways to pool the hidden states of a text's tokens into one vector.
const (
	PoolMean  = "mean"  // over the tokens, padding left out
	PoolCLS   = "cls"   // that of the first token
	PoolModel = "model" // no pooling: the architecture returns one vector, as towers do
)

// Head turns the output of a model into one vector per text.
type Head struct {
	Pooling   string // PoolMean, PoolCLS or PoolModel
	Normalize bool   // to length 1 (L2)
}

// apply appends the head: x is [batch, sequence, width], or [batch, width] for PoolModel, and mask [batch, sequence].
// Sums over tokens and squares are computed as matrix products, which add in the same order for every batch, so that
// the vector of a text does not depend on the rest of the batch.
func (h *Head) apply(g *onnx.Graph, x, mask *onnx.Value) *onnx.Value {
	var y *onnx.Value // [batch, 1, width]
	switch h.Pooling {
	case PoolModel:
		if !h.Normalize {
			return x
		}
		y = g.Unsqueeze(x, 1)
	case PoolCLS:
		y = g.Slice(x, []int64{0}, []int64{1}, []int64{1}, nil)
		y = g.AssumeShape(y, onnx.Shape{x.Shape()[0], onnx.Fix(1), x.Shape()[2]})
	default:
		row := g.Cast(g.Unsqueeze(mask, 1), onnx.Float32)
		count := g.Max(g.ReduceSum(row, true, -1), g.Scalar(onnx.Float32, 1e-9)) // avoids 0/0 if there are no tokens
		y = g.Div(g.MatMul(row, x), count)
	}
	if h.Normalize {
		square := g.MatMul(y, g.Transpose(y, 0, 2, 1))
		y = g.Div(y, g.Max(g.Sqrt(square), g.Scalar(onnx.Float32, 1e-12)))
	}
	return g.Squeeze(y, 1)
}

// AddHead appends the head to a model. output is the input of the head, which also uses the model's attention_mask if
// necessary. The result has only the output SentenceEmbedding.
func AddHead(m *onnx.Model, output string, h *Head) (*onnx.Model, error) {
	shape := onnx.Shape{batch, sequence, onnx.Sym("width")}
	if h.Pooling == PoolModel {
		shape = onnx.Shape{batch, onnx.Sym("width")}
	}
	for _, v := range m.Outputs() {
		if v.Name == output && len(v.Shape) == len(shape) {
			shape[len(shape)-1] = v.Shape[len(shape)-1]
		}
	}
	o := rewrite.MergeOptions{Name: "encoder", SecondPrefix: "head/"}
	g := onnx.NewGraph("head")
	x, mask := g.Input("hidden", onnx.Float32, shape), (*onnx.Value)(nil)
	if h.Pooling != PoolModel {
		mask = textInput(g, "attention_mask")
		o.Share = []string{"attention_mask"}
	}
	g.Output(SentenceEmbedding, h.apply(g, x, mask))
	head, err := g.Build(onnx.BuildOptions{})
	if err != nil {
		return nil, err
	}
	return rewrite.Merge(m, head, map[string]string{output: "hidden"}, o)
}

// module is an entry of the modules.json of sentence-transformers.
type module struct {
	Path string `json:"path"`
	Type string `json:"type"`
}

// ReadHead reads the head of a sentence encoder from modules.json and the pooling's config.json, the files of
// sentence-transformers; nil if a folder has none. An unknown module or pooling is an error.
func ReadHead(folder string) (*Head, error) {
	var modules []module
	if err := readJSON(folder, "modules.json", &modules); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	h := &Head{}
	for _, m := range modules {
		var err error
		switch kind := m.Type[strings.LastIndexByte(m.Type, '.')+1:]; kind {
		case "Transformer":
		case "Pooling":
			h.Pooling, err = readPooling(folder, m.Path)
		case "Normalize":
			h.Normalize = true
		default:
			err = fmt.Errorf("module %q is not known; known are Transformer, Pooling, Normalize", kind)
		}
		if err != nil {
			return nil, fmt.Errorf("read head of %q: %w", folder, err)
		}
	}
	if h.Pooling == "" {
		return nil, fmt.Errorf("read head of %q: modules.json has no Pooling", folder)
	}
	return h, nil
}

// readPooling finds the pooling_mode_... that is set.
func readPooling(folder, path string) (string, error) {
	if path != "" && !filepath.IsLocal(path) {
		return "", fmt.Errorf("module path %q is not inside the folder", path)
	}
	text, err := textfile.ReadFile(filepath.Join(folder, path, configFile), textfile.MaxConfig)
	if err != nil {
		return "", err
	}
	var fields map[string]any
	if err := strictjson.Unmarshal(text, &fields); err != nil {
		return "", fmt.Errorf("%s: %w", filepath.Join(path, configFile), err)
	}
	known := map[string]string{"pooling_mode_mean_tokens": PoolMean, "pooling_mode_cls_token": PoolCLS}
	found := ""
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if !strings.HasPrefix(field, "pooling_mode_") {
			continue
		}
		set, ok := fields[field].(bool)
		if !ok {
			return "", fmt.Errorf("%s in %s is neither true nor false", field, filepath.Join(path, configFile))
		}
		if !set {
			continue
		}
		if known[field] == "" || found != "" {
			return "", fmt.Errorf("%s in %s; known are one of pooling_mode_mean_tokens, pooling_mode_cls_token", field, filepath.Join(path, configFile))
		}
		found = known[field]
	}
	if found == "" {
		return "", fmt.Errorf("%s sets no pooling_mode", filepath.Join(path, configFile))
	}
	return found, nil
}
