package tools_test

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"pipe/costs"
	"pipe/featurize"
	"pipe/location"
	"pipe/onnx"
	"pipe/onnx/hf/hftest"
	"pipe/onnx/ort"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decide/decidetest"
)

// TestAdding builds the program with everything that is added, and uses each thing.
func TestAdding(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program")
	}
	rt := orttest.Open(t, 1)
	library, err := filepath.Abs(rt.Library())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(ort.EnvLibrary, library)
	o, root, bin := "-overlay="+overlay(t), filepath.Dir(working(t)), t.TempDir()
	vetted := append(touched(t), ownPackages...)
	slices.Sort(vetted)
	command(t, root, "go", append([]string{"vet", o}, slices.Compact(vetted)...)...)
	pipe := filepath.Join(bin, "pipe")
	command(t, root, "go", "build", "-ldflags=-w", o, "-o", pipe, "./cmd/pipe")
	t.Run("parts", func(t *testing.T) { useParts(t, pipe) })
	t.Run("models", func(t *testing.T) { useModels(t, pipe) })
	t.Run("gateway", func(t *testing.T) { useKind(t, pipe) })
	t.Run("grader", func(t *testing.T) { useGrader(t, pipe) })
	t.Run("texts", func(t *testing.T) { useTexts(t, pipe, rt) })
	t.Run("images", func(t *testing.T) { useImages(t, pipe, rt) })
	t.Run("melodies", func(t *testing.T) { useMelodies(t, pipe) })
	t.Run("surrogate", func(t *testing.T) { useSurrogate(t, pipe) })
	t.Run("benchmark", func(t *testing.T) { useBenchmark(t, pipe) })
	t.Run("file", func(t *testing.T) { useFile(t, pipe) })
	t.Run("command", func(t *testing.T) { useCommand(t, bin) })
	own := t.TempDir()
	command(t, root, "go", append([]string{"test", "-vet=off", "-ldflags=-w", o, "-c", "-o", own + "/"}, ownPackages...)...)
	t.Run("own tests", func(t *testing.T) {
		out := ""
		for _, folder := range ownPackages {
			out += command(t, filepath.Join(root, folder), testBinary(own, folder), "-test.v", "-test.run", "^("+strings.Join(ownTests, "|")+")$")
		}
		for _, ran := range append(slices.Clone(ownTests), "/squared_3x2", "/cheapest/0", "/capped") {
			if !strings.Contains(out, ran+" (") {
				t.Errorf("%s has not run", ran)
			}
		}
	})
	t.Run("pages", func(t *testing.T) { usePages(t, root, own) })
}

// ownPackages are the folders of ownTests.
var ownPackages = []string{"./experts/builder", "./models", "./models/offpolicy", "./models/policy", "./cmd/pipe"}

// testBinary is the path that the go command gives the tests of a package.
func testBinary(dir, folder string) string { return filepath.Join(dir, filepath.Base(folder)+".test") }

// ownTests are tests of the module that see what is added.
var ownTests = []string{
	"TestEveryEstimator",
	"TestSurrogateGradientsEqualFiniteDifferences", "TestExportedGraphEqualsReference", "TestEveryCommandKeepsItsInputs", "TestOutputsKeepInputs", "TestHelp",
	"TestEverySettingArrivesFromYAML", "TestNoSettingTakesWhatItCannotHold",
}

// useKind: the server takes an expert of the kind that is added. Without a policy it has one other problem, which comes later.
func useKind(t *testing.T, pipe string) {
	dir := t.TempDir()
	save(t, filepath.Join(dir, "policies", "none.txt"), "")
	for kind, want := range map[string]string{"twin": "no policy can be served", "triplet": "none of "} {
		save(t, filepath.Join(dir, "serve.yaml"), "policies: {paths: [policies]}\ngateway: {experts: {a: {kind: "+kind+", base_url: 'https://x.example/v1', model: m}}}\n")
		cmd := exec.Command(pipe, "serve", "--config", "serve.yaml", "--check")
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if code(t, err) != 3 || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v: %s", kind, err, out)
		}
	}
}

// usePages: the test of the pages asks for the kinds of parts that are added, and for nothing else. What is written there
// cannot be laid over the pages.
func usePages(t *testing.T, root, own string) {
	const folder = "./experts/builder"
	cmd := exec.Command(testBinary(own, folder), "-test.run", "^TestDocumentedSettings$")
	cmd.Dir = filepath.Join(root, folder)
	out, err := cmd.CombinedOutput()
	if code(t, err) != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	asked := map[string]bool{}
	for _, m := range regexp.MustCompile(`settings_yaml_test.go:\d+: (\w+/\w+)`).FindAllStringSubmatch(string(out), -1) {
		asked[m[1]] = true
	}
	want := []string{"advice/measured", "experts/repeater", "experts/speller", "features/spelling", "instances/wordlist", "reformulator/parrot", "split/leading", "task_loss/letters", "task_loss/prefix"}
	if got := slices.Sorted(maps.Keys(asked)); !slices.Equal(got, want) {
		t.Errorf("it asks for %v, not %v:\n%s", got, want, out)
	}
}

// wordsConfig names a kind of every part that is added.
const wordsConfig = `costs:
  instances: {kind: wordlist, words: [ant, bee, horse, otter, cow, whale]}
  split: {kind: leading, train: 4}
  task_loss: {kind: letters, price: 0.5}
  advice:
    - {name: none, kind: none}
    - {name: measure, kind: measured, long: 5}
  experts:
    - {name: repeater, kind: repeater, else: short}
  features: [{kind: spelling}]
`

// useParts builds costs of a source, a split, a task loss, advice, an expert and a feature that are added. The same files
// in a separate module, which touches nothing here, give the same costs.
func useParts(t *testing.T, pipe string) {
	inside, dir := buildCosts(t, wordsConfig, pipe, "costs", "--config", "costs.yaml", "--out", "costs.parquet")
	want := &costs.Tensor{
		IDs:      []string{"ant", "bee", "horse", "otter", "cow", "whale"},
		Splits:   []costs.Split{costs.Train, costs.Train, costs.Train, costs.Train, costs.Val, costs.Val},
		Features: []float32{3, 1, 3, 2, 5, 2, 5, 2, 3, 1, 5, 2},       // letters and vowels
		Loss:     []float32{0, 0, 0, 0, 2.5, 0, 2.5, 0, 0, 0, 2.5, 0}, // half the letters of a long word, without the advice
	}
	same := slices.Equal(inside.IDs, want.IDs) && slices.Equal(inside.Splits, want.Splits) && slices.Equal(inside.Features, want.Features) &&
		slices.Equal(inside.Loss, want.Loss)
	if names := inside.Actions.Names(); !same || !slices.Equal(names, []string{"repeater/none", "repeater/measure"}) {
		t.Errorf("of %v, the tensor is\n%+v, not\n%+v", names, inside, want)
	}
	_, other := buildCosts(t, wordsConfig, outsideModule(t, "parts", outsideParts(t)), "costs.yaml", "costs.parquet")
	if readText(t, filepath.Join(dir, "costs.parquet")) != readText(t, filepath.Join(other, "costs.parquet")) {
		t.Error("the same files in another module give other costs")
	}
}

// buildCosts runs a program that writes costs.parquet of costs.yaml, in a folder that it returns.
func buildCosts(t *testing.T, config, program string, args ...string) (*costs.Tensor, string) {
	t.Helper()
	dir := t.TempDir()
	save(t, filepath.Join(dir, "costs.yaml"), config)
	save(t, filepath.Join(dir, "pages", "pages.jsonl"), `{"id": "Zanzibar", "text": "Its name is long ."}`+"\n"+`{"id": "Oslo", "text": "Its name is short ."}`+"\n")
	command(t, dir, program, args...)
	tensor, err := costs.Read(t.Context(), location.File(filepath.Join(dir, "costs.parquet")), costs.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return tensor, dir
}

var packageClause = regexp.MustCompile(`(?m)^package \w+$`)

// outsideParts are the files of a program that brings the same parts along.
func outsideParts(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{"main.go": readText(t, added+"/outside/main.go")}
	for _, file := range []string{
		"source/wordlist.go", "kinds/split_leading.go", "kinds/loss_letters.go", "advice/measured.go", "expert/repeater.go", "feature/spelling.go",
	} {
		files[filepath.Base(file)] = packageClause.ReplaceAllString(readText(t, added+"/experts/"+file), "package main")
	}
	return files
}

// useModels builds costs of an expert that learns, and of advice whose queries a chat model writes.
func useModels(t *testing.T, pipe string) {
	config := strings.NewReplacer(
		"  experts:\n", "    - {name: asked, kind: passages, pages: pages, top: 1, reformulator: {kind: parrot, says: Zanzibar}}\n  experts:\n"+
			"    - {name: speller, kind: speller, unavailable: [asked]}\n",
		"price: 0.5", "price: 1").Replace(wordsConfig)
	tensor, dir := buildCosts(t, config, pipe, "costs", "--config", "costs.yaml", "--out", "costs.parquet")
	at := slices.Index(tensor.Actions.Names(), "speller/none")
	asked := slices.Index(tensor.Actions.Names(), "repeater/asked")
	for n, word := range tensor.IDs {
		loss, short := tensor.Losses(n), float32(0)
		if len(word) < 5 {
			short = float32(len(word)) // under this advice the answer is always long
		}
		if loss[at] != 0 || loss[asked] != short {
			t.Errorf("%s: losses %v of %v: what learns is to be right, and what is asked is to answer long", word, loss, tensor.Actions.Names())
		}
	}
	out := command(t, dir, pipe, "inspect", "experts/speller.onnx")
	if !strings.Contains(out, "speller") {
		t.Errorf("its file says\n%s", out)
	}
}

// useGrader builds costs of recorded answers that a grader judges.
func useGrader(t *testing.T, pipe string) {
	dir := t.TempDir()
	save(t, filepath.Join(dir, "questions.csv"), "id,said,x\na,ant,1\nb,bee,2\n")
	save(t, filepath.Join(dir, "answers.csv"), "id,answer\na,animal\nb,bird\n")
	save(t, filepath.Join(dir, "costs.yaml"), `costs:
  instances: {kind: table, file: questions.csv, reference: said}
  split: {validation: 0}
  task_loss: {kind: prefix, letters: 2}
  advice: [{name: none, kind: none}]
  experts: [{name: e, kind: precomputed, file: answers.csv, prediction: answer}]
  features: [{kind: columns, columns: [x]}]
`)
	command(t, dir, pipe, "costs", "--config", "costs.yaml", "--out", "costs.parquet")
	tensor, err := costs.Read(t.Context(), location.File(filepath.Join(dir, "costs.parquet")), costs.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(tensor.Loss, []float32{0, 1}) {
		t.Errorf("losses %v", tensor.Loss)
	}
}

// modelFolder writes a model as Hugging Face keeps models.
func modelFolder(t *testing.T, dir string, config map[string]any, weights map[string]*onnx.Tensor) {
	t.Helper()
	b, err := hftest.Safetensors(weights)
	if err == nil {
		err = hftest.WriteJSON(dir, "config.json", config)
	}
	if err != nil {
		t.Fatal(err)
	}
	save(t, filepath.Join(dir, "model.safetensors"), string(b))
}

// useTexts converts a model of texts of an architecture that is added. The file needs none to be used.
func useTexts(t *testing.T, pipe string, rt *ort.Runtime) {
	dir := hftest.Folder(t)
	table := make([]float32, hftest.Vocab*hftest.Vocab) // a token's vector is 1 in its own place
	for i := range hftest.Vocab {
		table[i*hftest.Vocab+i] = 1
	}
	modelFolder(t, dir, map[string]any{"model_type": "bag_of_words", "vocab_size": hftest.Vocab, "hidden_size": hftest.Vocab, "max_position_embeddings": 20},
		map[string]*onnx.Tensor{"words.weight": onnx.Float32s([]int64{hftest.Vocab, hftest.Vocab}, table)})
	command(t, dir, pipe, "convert", ".", "--out", "bag.onnx")
	if out := command(t, dir, pipe, "inspect", "bag.onnx"); !strings.Contains(out, "(bag_of_words), text of up to 20 tokens") {
		t.Errorf("its file says\n%s", out)
	}
	e, err := featurize.OpenTextEncoder(rt, filepath.Join(dir, "bag.onnx"), featurize.DefaultTextEncoderOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	got, want := make([]float32, hftest.Vocab), make([]float32, hftest.Vocab)
	for _, token := range []int{2, 4, 7, 3} { // begin, a, ##b, end: of length 1 together
		want[token] = 0.5
	}
	if err := e.Encode(context.Background(), got, []string{"ab"}); err != nil || !slices.Equal(got, want) {
		t.Errorf("the vector of ab is %v, not %v (%v)", got, want, err)
	}
}

// useImages converts a model of images of an architecture that is added.
func useImages(t *testing.T, pipe string, rt *ort.Runtime) {
	dir := t.TempDir()
	modelFolder(t, dir, map[string]any{"model_type": "mean_colour", "image_size": 4, "projection_dim": 2},
		map[string]*onnx.Tensor{"colours.weight": onnx.Float32s([]int64{3, 2}, []float32{1, 0, 0, 2, 0, 0})}) // red, and twice green
	command(t, dir, pipe, "convert", ".", "--out", "colour.onnx", "--size", "4", "--mean", "0", "--std", "1")
	if out := command(t, dir, pipe, "inspect", "colour.onnx"); !strings.Contains(out, "(mean_colour), images of 4 x 4 pixels") {
		t.Errorf("its file says\n%s", out)
	}
	e, err := featurize.OpenImageEncoder(rt, filepath.Join(dir, "colour.onnx"), featurize.DefaultImageModelOptions(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	got := make([]float32, 2)
	err = e.EncodePixels(context.Background(), got, 1, func(dst []uint8, _ int) error {
		for i := 0; i < len(dst); i += 3 {
			dst[i], dst[i+1], dst[i+2] = 0, 255, 255
		}
		return nil
	})
	if err != nil || !slices.Equal(got, []float32{0, 2}) {
		t.Errorf("the vector of green and blue is %v (%v)", got, err)
	}
}

// useMelodies converts a model of an input that is added, alone and with a policy, and decides on rows of it.
func useMelodies(t *testing.T, pipe string) {
	dir := t.TempDir()
	modelFolder(t, filepath.Join(dir, "tune"), map[string]any{"model_type": "melody", "hidden_size": 2},
		map[string]*onnx.Tensor{"notes.weight": onnx.Float32s([]int64{7, 2}, []float32{1, 0, -1, 0, 0, 1, 0, -1, 2, 2, 0, 0, 0, 0})})
	command(t, dir, pipe, "convert", "tune", "--out", "tune.onnx")
	if out := command(t, dir, pipe, "inspect", "tune.onnx"); !strings.Contains(out, "tune (melody), melodies of seven notes") {
		t.Errorf("its file says\n%s", out)
	}
	policy := decidetest.EncoderPolicy(t, dir, 2, costs.FeatureSource{Name: "melody tune", Dim: 2}, "")
	command(t, dir, pipe, "convert", "tune.onnx", "--merge", policy, "--out", "merged.onnx")
	save(t, filepath.Join(dir, "rows.csv"), "id,notes\nx,a a c\ny,b d\nz,e\nw,b b c\n")
	save(t, filepath.Join(dir, "vectors.csv"), "id,v0,v1\nx,2,1\ny,-1,-1\nz,2,2\nw,-2,1\n")
	want := command(t, dir, pipe, "decide", "--policy", policy, "--in", "vectors.csv", "--scores")
	for name, args := range map[string][]string{
		"folder": {"--policy", policy, "--encoder", "tune"},
		"file":   {"--policy", policy, "--encoder", "tune.onnx"},
		"merged": {"--policy", "merged.onnx"},
	} {
		if got := command(t, dir, pipe, append([]string{"decide", "--melody", "notes", "--in", "rows.csv", "--scores"}, args...)...); got != want {
			t.Errorf("%s: melodies are decided\n%s, their vectors\n%s", name, got, want)
		}
	}
}

// useSurrogate trains by a surrogate that is added, whose policy has a decoder that is added, and decides with it.
func useSurrogate(t *testing.T, pipe string) {
	dir, tensor := t.TempDir(), twoSided(600)
	if err := costs.Write(t.Context(), location.File(filepath.Join(dir, "costs.parquet")), tensor); err != nil {
		t.Fatal(err)
	}
	command(t, dir, pipe, "train", "--in", "costs.parquet", "--recipe", "paper", "--methods", "squared", "--seeds", "1", "--out", "policies")
	policy := filepath.Join("policies", "squared-lambda1-seed0.onnx")
	if out := command(t, dir, pipe, "inspect", policy); !strings.Contains(out, "decoder cheapest") {
		t.Errorf("its file says\n%s", out)
	}
	table := command(t, dir, pipe, "decide", "--policy", policy, "--in", "costs.parquet")
	right := 0
	for n, line := range strings.Split(strings.TrimSpace(table), "\n")[1:] {
		best := "a"
		if tensor.Features[n] > 0 {
			best = "b"
		}
		if cells := strings.Split(line, ","); cells[2] == best {
			right++
		}
	}
	if right < tensor.Len()*95/100 {
		t.Errorf("%d of %d rows go to the expert that is right there:\n%s", right, tensor.Len(), table)
	}
}

// useBenchmark runs a benchmark that is added.
func useBenchmark(t *testing.T, pipe string) {
	dir := t.TempDir()
	if help := command(t, dir, pipe, "bench", "--help"); !strings.Contains(help, "  coin  a coin is tossed") {
		t.Errorf("the help is\n%s", help)
	}
	command(t, dir, pipe, "bench", "coin", "--out", "out")
	var report struct {
		Benchmark string
		Rows      []struct {
			Loss float64 `json:"true_loss_mean"`
		}
	}
	err := json.Unmarshal([]byte(readText(t, filepath.Join(dir, "out", "report.json"))), &report)
	if err != nil || report.Benchmark != "coin" || len(report.Rows) != 1 || report.Rows[0].Loss != 0.5 {
		t.Errorf("the report is %+v (%v)", report, err)
	}
}

// useFile explains a file of a kind that is added.
func useFile(t *testing.T, pipe string) {
	dir := t.TempDir()
	save(t, filepath.Join(dir, "film.vtt"), "WEBVTT\n\n00:01 --> 00:02\nYes.\n\n00:03 --> 00:04\nNo.\n")
	if out := command(t, dir, pipe, "inspect", "film.vtt", "--json"); !strings.Contains(out, `"kind": "subtitles"`) || !strings.Contains(out, `"cues": 2`) {
		t.Errorf("it is explained as\n%s", out)
	}
}

// useCommand runs the script of a command that is added.
func useCommand(t *testing.T, bin string) {
	testscript.Run(t, testscript.Params{
		Dir: added + "/cmd/pipe/testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", bin+string(os.PathListSeparator)+e.Getenv("PATH"))
			return nil
		},
	})
}
