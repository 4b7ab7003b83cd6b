package bench

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/internal/config"
	"pipe/internal/realdata"
	"pipe/internal/storage"
	"pipe/onnx/hf/hftest"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
)

// paperImages is the number of images on which tests run the paper's configuration.
const paperImages = 24

const badImage = "n01440764_page.JPEG"

// imagenetPaper replaces the models and images of the paper's configuration by small random models and a few real
// images, one of which is not an image.
func imagenetPaper(t *testing.T) Options {
	t.Helper()
	lists, tokenizers := realdata.Folder(t, "imagenet"), realdata.Folder(t, "tokenizers")
	images := someImages(t, filepath.Join(lists, "images"), paperImages)
	if err := os.WriteFile(filepath.Join(images, badImage), []byte("<html>not found</html>"), 0o666); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"PIPE_IMAGENET": images, "PIPE_IMAGENET_LABELS": "name", "PIPE_IMAGENET_LISTS": lists,
		"PIPE_CLIP_TOKENIZER": filepath.Join(tokenizers, "clip-vit-large-patch14"), "PIPE_IMAGENET_EPOCHS": "5",
		"PIPE_CLIP_B32": randomCLIP(t, 1, 32), "PIPE_CLIP_B16": randomCLIP(t, 2, 16), "PIPE_CLIP_L14": randomCLIP(t, 3, 14),
		"PIPE_IMAGENET_STAND_IN": "CLIPs with random weights.",
	} {
		t.Setenv(name, value)
	}
	return Options{Config: filepath.Join("..", "configs", "imagenet.yaml"), Out: t.TempDir(), Runtime: orttest.OneThread(t)}
}

func randomCLIP(t *testing.T, seed uint64, patch int64) string {
	t.Helper()
	return hftest.CLIPFolder(t, hftest.RandomCLIP(seed, patch))
}

// someImages copies n files of a folder, evenly over it.
func someImages(t *testing.T, from string, n int) string {
	t.Helper()
	files, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for i := range n {
		name := files[i*len(files)/n].Name()
		b, err := os.ReadFile(filepath.Join(from, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), b, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// stopAt cancels a run when a step of it begins.
type stopAt struct {
	stage.Progress
	what string
	stop context.CancelFunc
}

func (p *stopAt) Start(total int64, what string) {
	p.Progress.Start(total, what)
	if what == p.what {
		p.stop()
	}
}

// TestImagenetPaperConfiguration runs configs/imagenet.yaml unchanged except for models, images and epochs: refused
// because of a file that is not an image, stopped while costs are built, continued, and run again when everything is
// done.
func TestImagenetPaperConfiguration(t *testing.T) {
	if testing.Short() {
		t.Skip("a whole benchmark; the small one of fraud runs in the short form, too")
	}
	o := imagenetPaper(t)
	var bad *part.BadImagesError
	if _, err := Run(t.Context(), "imagenet", o, stage.Quiet); !errors.As(err, &bad) || len(bad.Images) != 1 || bad.Images[0].ID != badImage {
		t.Errorf("a bad image gives %v", err)
	}
	o.SkipBad = true
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	if _, err := Run(ctx, "imagenet", o, &stopAt{stage.Quiet, "instances", stop}); !errors.Is(err, context.Canceled) {
		t.Fatalf("stopped run: %v", err)
	}
	r, err := Run(t.Context(), "imagenet", o, stage.Quiet)
	if err != nil {
		t.Fatal(err)
	}
	if want := []float64{0, 0.1, 0.15, 0.3, 0.4, 0.6, 0.7, 0.8, 1, 1.5, 10}; !slices.Equal(r.Lambdas(), want) {
		t.Errorf("lambdas %v, want %v", r.Lambdas(), want)
	}
	tensor, err := costs.Read(t.Context(), storage.File(filepath.Join(o.Out, "split0", "costs.parquet")), costs.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	checkImagenetTensor(t, tensor)
	checkImagenetReport(t, o.Out, r)
	before := treeOf(t, o.Out)
	if _, err := Run(t.Context(), "imagenet", o, stage.Quiet); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, treeOf(t, o.Out)); diff != "" {
		t.Errorf("files change when nothing is to be done:\n%s", diff)
	}
}

// checkImagenetTensor checks the shape of the benchmark: 3 x 4 actions, all available, fees of the paper, answers among
// the 1,000 synsets.
func checkImagenetTensor(t *testing.T, tensor *costs.Tensor) {
	t.Helper()
	a := tensor.Actions
	if tensor.Len() != paperImages || tensor.Dim != 12 || a.Len() != 12 || len(a.Unavailable) != 0 {
		t.Errorf("%d rows, %d features, %d actions, unavailable %v", tensor.Len(), tensor.Dim, a.Len(), a.Unavailable)
	}
	for i, want := range [][2]float64{{0, 0}, {0, 0.03}, {0, 0.06}, {0, 0.09}, {0.04, 0}, {0.04, 0.03}} {
		expert, advice := a.Pair(i)
		if got := [2]float64{a.Experts[expert].Fee, a.Advice[advice].Fee}; got != want {
			t.Errorf("action %s has fees %v, want %v", a.Name(i), got, want)
		}
	}
	if !strings.HasPrefix(a.Features.Name, "image ") || !strings.HasPrefix(a.Digests["decoder"], "standard") {
		t.Errorf("features %q, decoder %q", a.Features.Name, a.Digests["decoder"])
	}
	for i, label := range tensor.Predictions {
		if len(label) != 9 || label[0] != 'n' {
			t.Fatalf("cell %d answers %q, no synset", i, label)
		}
	}
	if n := len(slices.Compact(slices.Sorted(slices.Values(tensor.Predictions)))); n < 3 {
		t.Errorf("%d answers in all", n)
	}
}

func checkImagenetReport(t *testing.T, folder string, r *report.Report) {
	t.Helper()
	for _, method := range []string{"ours", "l2d", "best_fixed", "knn", "oracle"} {
		if !slices.ContainsFunc(r.Rows, func(row report.Row) bool { return row.Method == method }) {
			t.Errorf("no row of %s", method)
		}
	}
	if len(r.Experts) != 12 || r.Experts[0].Accuracy == nil {
		t.Errorf("%d lines about experts, the first %+v", len(r.Experts), r.Experts[0])
	}
	if len(r.Skipped) != 1 || r.Skipped[0].ID != badImage {
		t.Errorf("left out: %v", r.Skipped)
	}
	if !strings.HasPrefix(r.Settings["decoder"], "standard") || len(r.PictureIDs()) == 0 {
		t.Errorf("decoder %q, pictures of %v", r.Settings["decoder"], r.PictureIDs())
	}
	if !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "decoded by standard") }) {
		t.Errorf("notes %q", r.Notes)
	}
	page, err := os.ReadFile(filepath.Join(folder, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range r.PictureIDs() {
		if !bytes.Contains(page, []byte(id)) {
			t.Errorf("the page has no picture of %s", id)
		}
	}
	if at := bytes.Index(page, []byte("CLIPs with random weights.")); at < 0 || at > bytes.Index(page, []byte("<table")) {
		t.Errorf("the page says at %d that models are stand-ins", at)
	}
	record, err := os.ReadFile(filepath.Join(folder, "report.json"))
	if err != nil || bytes.Contains(record, []byte("base64")) || !bytes.Contains(record, []byte("CLIPs with random weights.")) {
		t.Errorf("report.json: %v", err)
	}
}

func TestImagenetConfigProblems(t *testing.T) {
	const drawn, given = "{kind: random, seed: 3}", "{kind: column}"
	for _, c := range []struct{ section, split, want string }{
		{"{draws: 0}", drawn, "imagenet.draws: 0"},
		{"{recipes: []}", drawn, "imagenet.recipes: the list is empty"},
		{"{recipes: [paper, paper]}", drawn, "is a duplicate"},
		{"{train: {lambdas: []}}", drawn, "imagenet.train.lambdas: the list is empty"},
		{"{train: {rate: 1}}", drawn, `unknown key "rate"`},
		{"{pictures: {side: 97}}", drawn, "pictures.side: 97 pixels, not 1 to 96"},
		{"{pictures: {per_pair: -1}}", drawn, "pictures.per_pair: -1 is negative"},
		{"{pictures: {lambdas: [7]}}", drawn, "pictures.lambdas: 7 is not one of"},
		{"{resamples: 1}", drawn, "imagenet.resamples: 1"},
		{"{draw: 2}", drawn, `unknown key "draw"`},
		{"{draws: 2}", given, "imagenet.draws: a split of kind \"column\" is not drawn"},
		{"{draws: 2}", "{kind: random, seed: x}", "the split's seed is x"},
		{"{draws: 2, knn: false, pictures: {side: 48}}", drawn, ""},
		{"{}", given, ""},
	} {
		file := filepath.Join(t.TempDir(), "c.yaml")
		text := "costs:\n  instances: {kind: images, folder: x}\n  advice: [{name: none, kind: none}]\n" +
			"  experts: [{name: net, kind: onnx_image, model: x.onnx}]\n  features: [{kind: pooled}]\n" +
			"  split: " + c.split + "\nimagenet: " + c.section + "\n"
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		read := imagenetConfigFile{Costs: part.DefaultConfig(), Imagenet: defaultImagenet()}
		err := config.Load(t.Context(), storage.File(file), &read)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", c.section, err, c.want)
		}
	}
}

// TestDrawsOfASplit: each draw has a different seed, and the configuration is not changed.
func TestDrawsOfASplit(t *testing.T) {
	split := part.Part{Kind: "random", Settings: map[string]any{"validation": 0.5, "seed": 3}}
	for draw, want := range []int{3, 4, 5} {
		got, err := splitOfDraw(split, draw)
		if err != nil || got.Settings["seed"] != want || got.Settings["validation"] != 0.5 {
			t.Errorf("draw %d: %+v, %v", draw, got, err)
		}
	}
	if got, err := splitOfDraw(part.Part{Kind: "random"}, 2); err != nil || got.Settings["seed"] != 2 {
		t.Errorf("without a seed: %+v, %v", got, err)
	}
	if split.Settings["seed"] != 3 {
		t.Error("the configuration has changed")
	}
}

// TestAccuracyNote counts right answers under the first advice, on all splits.
func TestAccuracyNote(t *testing.T) {
	a := &costs.Actions{
		Experts: []costs.Expert{{Name: "a"}, {Name: "b"}}, Advice: []costs.Advice{{Name: "one"}, {Name: "two"}},
	}
	tensor := &costs.Tensor{
		Actions: a, IDs: []string{"1", "2"}, Labels: []string{"x", "y"}, Splits: []costs.Split{costs.Train, costs.Val},
		Predictions: []string{"x", "y", "y", "y", "y", "y", "x", "y"}, Loss: []float32{0, 1, 1, 1, 0, 0, 1, 0},
	}
	note, err := accuracyNote(tensor, nil)
	if want := "Accuracy under one on all 2 images, those of training included: a 1.000, b 0.000."; err != nil || note != want {
		t.Errorf("%q, %v", note, err)
	}
}

// TestImagenetConfigsAreValid reads every configuration of the repository that is one of the benchmark.
func TestImagenetConfigsAreValid(t *testing.T) {
	t.Setenv("PIPE_DATA", t.TempDir())
	for _, name := range []string{"cifar10-small.yaml", "imagenet-small.yaml", "imagenet.yaml"} {
		file := imagenetConfigFile{Costs: part.DefaultConfig(), Imagenet: defaultImagenet()}
		if err := config.Load(t.Context(), storage.File(filepath.Join("..", "configs", name)), &file); err != nil {
			t.Error(err)
		}
	}
}
