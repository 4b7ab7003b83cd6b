package hftest

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/onnx"
)

// VisionFolder makes a folder "vision" of the vision tower of a CLIP folder, as the official library saves one alone.
// class is the entry of architectures, "" for none. The names of the weights are prefix and their names in the tower.
func VisionFolder(t testing.TB, clip, class, prefix string) string {
	t.Helper()
	var whole struct {
		Projection int            `json:"projection_dim"`
		Vision     map[string]any `json:"vision_config"`
	}
	text, err := os.ReadFile(filepath.Join(clip, "config.json"))
	if err == nil {
		err = json.Unmarshal(text, &whole)
	}
	if err != nil {
		t.Fatal(err)
	}
	config := maps.Clone(whole.Vision)
	config["model_type"], config["projection_dim"] = "clip_vision_model", whole.Projection
	if class != "" {
		config["architectures"] = []string{class}
	}
	weights := visionWeights(t, filepath.Join(clip, "model.safetensors"), prefix)
	if class == "CLIPVisionModel" {
		delete(weights, "visual_projection.weight")
	}
	folder := filepath.Join(t.TempDir(), "vision")
	if err := os.Mkdir(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	b, err := Safetensors(weights)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "model.safetensors"), b, 0o666)
	}
	if err == nil {
		err = WriteJSON(folder, "config.json", config)
	}
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// visionWeights are the weights of a file that a vision tower needs.
func visionWeights(t testing.TB, file, prefix string) map[string]*onnx.Tensor {
	t.Helper()
	all, err := onnx.OpenSafetensors(file)
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	weights := map[string]*onnx.Tensor{}
	for _, name := range all.Names() {
		inTower, ok := strings.CutPrefix(name, "vision_model.")
		if !ok && name != "visual_projection.weight" {
			continue
		}
		tensor, err := all.Tensor(name)
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			name = prefix + inTower
		}
		weights[name] = tensor
	}
	return weights
}
