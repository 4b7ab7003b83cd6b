package expert

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"pipe/experts/builder/part"
	"pipe/experts/builder/parttest"
	"pipe/internal/judge"
	"pipe/internal/progress"
	"pipe/internal/realdata"
)

// clipCounts are the families of the paper.
var clipCounts = []int{1, 5, 16, 32}

// realClip is the tiny CLIP over a few real images, which it writes into a folder, the real 1,000 classes and CLIP's
// templates. model is a folder.
func realClip(t testing.TB, dir, model string, images int) *part.Config {
	t.Helper()
	imagenet := realdata.Folder(t, "imagenet")
	cfg := part.DefaultConfig()
	files, err := os.ReadDir(filepath.Join(imagenet, "images"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range images {
		name := files[i*len(files)/images].Name()
		parttest.Write(t, filepath.Join(dir, name[:9], name), parttest.Read(t, filepath.Join(imagenet, "images", name)))
	}
	cfg.Instances = part.Part{Kind: "images", Settings: map[string]any{"folder": dir}}
	for _, n := range clipCounts {
		cfg.Advice = append(cfg.Advice, part.AdviceConfig{Name: "prompts-" + string(rune('a'+len(cfg.Advice))), Fee: 0.03 * float64(len(cfg.Advice)), Kind: "prompts", Settings: map[string]any{
			"templates": filepath.Join(imagenet, "imagenet_templates.json"), "first": []string{"a photo of a {}."}, "count": n,
		}})
	}
	cfg.Experts = []part.ExpertConfig{{Name: "tiny", Kind: "clip", Settings: map[string]any{
		"model": model, "tokenizer": realdata.Folder(t, "tokenizers", "clip-vit-large-patch14"),
		"classes": filepath.Join(imagenet, "imagenet_class_index.json"), "names": filepath.Join(imagenet, "imagenet_classes.json"),
	}}}
	cfg.Features = []part.Part{{Kind: "pooled"}}
	return &cfg
}

func tinyCLIP(t testing.TB) string {
	t.Helper()
	return realdata.Folder(t, "models", "tiny-random", "clip-tiny-random")
}

// weightsAlone is the tiny CLIP without its exports.
func weightsAlone(t testing.TB) string {
	t.Helper()
	folder := t.TempDir()
	for _, name := range []string{"config.json", "model.safetensors"} {
		b, err := os.ReadFile(filepath.Join(tinyCLIP(t), name))
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), b, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// clipJudge recomputes logits from pixels with the exports: official tokenizer,
// texts of a template filled up to the longest one, arithmetic by NumPy in double
// precision.
const clipJudge = `
import json, sys
import numpy as np, onnxruntime as ort
from tokenizers import Tokenizer
a = json.load(open(sys.argv[1]))
def session(name):
    return ort.InferenceSession(a["model"] + "/onnx/" + name, providers=["CPUExecutionProvider"])
t = Tokenizer.from_file(a["tokenizer"] + "/tokenizer.json")
t.enable_padding(pad_id=49407, pad_token="<|endoftext|>")
t.enable_truncation(77)
names = json.load(open(a["names"]))
templates = json.load(open(a["templates"]))
first = "a photo of a {}."
templates = [first] + [x for x in templates if x != first]
text, rows = session("text_model.onnx"), {}
def unit(x):
    return x / np.sqrt((x * x).sum(-1, keepdims=True))
def embed(texts):
    e = t.encode_batch(texts)
    ids = np.array([x.ids for x in e], np.int64)
    mask = np.array([x.attention_mask for x in e], np.int64)
    return text.run(["text_embeds"], {"input_ids": ids, "attention_mask": mask})[0].astype(np.float64)
vectors = [unit(embed([x.replace("{}", n) for n in names])) for x in templates[:max(a["counts"])]]
weights = [unit(np.mean(vectors[:n], axis=0)) for n in a["counts"]]
size = a["size"]
pixels = np.fromfile(a["pixels"], np.uint8).reshape(-1, size, size, 3).astype(np.float32) / 255
pixels = (pixels - np.array([0.48145466, 0.4578275, 0.40821073], np.float32)) / np.array([0.26862954, 0.26130258, 0.27577711], np.float32)
images = session("vision_model.onnx").run(["image_embeds"], {"pixel_values": np.ascontiguousarray(pixels.transpose(0, 3, 1, 2))})[0]
images = unit(images.astype(np.float64))
scale = np.exp(a["scale"])
logits = np.stack([scale * images @ w.T for w in weights], axis=1)
logits.astype(np.float32).tofile(a["logits"])
np.stack(weights).astype(np.float32).tofile(a["weights"])
print(scale)
`

// TestClipAgreesWithPython holds logits and class weights of all families,
// classes and templates against a recomputation, from weights and from exports.
func TestClipAgreesWithPython(t *testing.T) {
	py := judge.Python(t, "numpy", "onnxruntime", "tokenizers")
	const images = 12
	want, wantWeights := []float32(nil), []float32(nil)
	for name, model := range map[string]string{"exports": tinyCLIP(t), "weights": weightsAlone(t)} {
		dir, experts := t.TempDir(), t.TempDir()
		e, batch := openClip(t, realClip(t, dir, model, images), dir, experts, images)
		logits, err := e.logits(t.Context(), batch)
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want, wantWeights = askClipJudge(t, py, e, batch)
		}
		if len(want) != len(logits) || len(logits) != images*len(clipCounts)*1000 {
			t.Fatalf("%d logits, Python has %d", len(logits), len(want))
		}
		worst := furthest(logits, want)
		if !(worst <= 1e-4) {
			t.Errorf("%s: logits are %v off", name, worst)
		}
		kept, err := e.weights(t.Context(), &part.Preparation{Folder: experts, Workers: 1, Progress: progress.Silent{}})
		if err != nil {
			t.Fatal(err)
		}
		var off float64
		for i, family := range kept {
			off = max(off, furthest(family, wantWeights[i*len(family):]))
		}
		if !(off <= 1e-6) {
			t.Errorf("%s: class weights are %v off", name, off)
		}
		t.Logf("%s: logits of %d images, %v templates, 1,000 classes: largest difference %.2g; class weights %.2g", name, images, clipCounts, worst, off)
	}
}

func askClipJudge(t *testing.T, py string, e *clip, batch []part.Instance) (logits, weights []float32) {
	t.Helper()
	pixels, err := e.pixels(batch)
	if err != nil {
		t.Fatal(err)
	}
	dir, imagenet := t.TempDir(), realdata.Folder(t, "imagenet")
	file := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(file("pixels"), pixels.Raw, 0o666); err != nil {
		t.Fatal(err)
	}
	about, err := json.Marshal(map[string]any{
		"model": tinyCLIP(t), "tokenizer": realdata.Folder(t, "tokenizers", "clip-vit-large-patch14"), "counts": clipCounts, "size": e.preprocess.Width,
		"names": filepath.Join(imagenet, "imagenet_classes.json"), "templates": filepath.Join(imagenet, "imagenet_templates.json"),
		"pixels": file("pixels"), "logits": file("logits"), "weights": file("weights"), "scale": 2.6592,
	})
	if err == nil {
		err = os.WriteFile(file("about.json"), about, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Log("Python's scale of logits: ", judge.Run(t, py, dir, clipJudge, file("about.json")))
	return readFloats(t, file("logits")), readFloats(t, file("weights"))
}

func readFloats(t *testing.T, path string) []float32 {
	t.Helper()
	b := parttest.Read(t, path)
	out := make([]float32, len(b)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32([]byte(b[4*i : 4*i+4])))
	}
	return out
}

// TestClipRoadsAgree makes class weights from exports and from weights.
func TestClipRoadsAgree(t *testing.T) {
	if testing.Short() {
		t.Skip("compares figures of 32,000 texts; TestClipFamiliesAreIndependent runs the same code in the short form")
	}
	var roads [2][][]float32
	for i, model := range []string{tinyCLIP(t), weightsAlone(t)} {
		dir, experts := t.TempDir(), t.TempDir()
		e, _ := openClip(t, realClip(t, dir, model, 1), dir, experts, 1)
		var err error
		if roads[i], err = e.weights(t.Context(), &part.Preparation{Folder: experts, Workers: 1, Progress: progress.Silent{}}); err != nil {
			t.Fatal(err)
		}
	}
	for f := range roads[0] {
		if d := furthest(roads[0][f], roads[1][f]); !(d <= 1e-6) {
			t.Errorf("%d templates: class weights differ by %v", clipCounts[f], d)
		}
	}
}

// TestClipInFloat16 is close to float32, and another build.
func TestClipInFloat16(t *testing.T) {
	if testing.Short() {
		t.Skip("compares figures; TestClipFamiliesAreIndependent runs the same code in the short form")
	}
	const images = 12
	dir := t.TempDir()
	cfg := realClip(t, dir, tinyCLIP(t), images)
	full := clipLogitsOf(t, cfg, dir, images)
	cfg.Experts[0].Settings["precision"] = "float16"
	half := clipLogitsOf(t, cfg, dir, images)
	worst := furthest(full, half)
	if !(worst <= 0.02) || worst == 0 {
		t.Errorf("float16 is %v off", worst)
	}
	t.Logf("float16 is %.3g off, logits are up to %.3g", worst, furthest(full, make([]float32, len(full))))
}

// BenchmarkClassWeights makes the class weights of 1, 5, 16 and 32 templates from
// nothing: 32,000 texts less those of two pairs of classes of one name.
func BenchmarkClassWeights(b *testing.B) {
	for b.Loop() {
		dir := b.TempDir()
		openClip(b, realClip(b, dir, tinyCLIP(b), 1), dir, b.TempDir(), 1)
	}
	b.ReportMetric(float64(b.N)*float64(clipCounts[len(clipCounts)-1]*998)/b.Elapsed().Seconds(), "texts/s")
}
