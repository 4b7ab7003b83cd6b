package imports

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/costs/outcome"
	"pipe/internal/config"
	"pipe/internal/realdata"
	"pipe/internal/storage"
	"pipe/pipeline/stage"
)

// smallPublished are tables of the shapes of the presets: files by name, and the one to import.
var smallPublished = map[string]struct {
	in    string
	files map[string]string
}{
	"routerbench": {"t.csv", map[string]string{"t.csv": "sample_id,prompt,eval_name,a,b,a|total_cost,b|total_cost\n" +
		"0,x,u,,1,0,0.002\n" + rows("%d,xx,u,0,1,0.001,0.002\n")}},
	"sprout": {"t.jsonl", map[string]string{
		"t.jsonl": `{"key":"0","dataset":"u","prompt":"x","a":{"score":1,"num_input_tokens":10,"num_output_tokens":20},"b":null}` + "\n" +
			rows(`{"key":"%d","dataset":"u","prompt":"xy","a":{"score":0,"num_input_tokens":10,"num_output_tokens":20},"b":{"score":0.5,"num_input_tokens":10,"num_output_tokens":20}}`+"\n"),
		"prices.yaml": "currency: EUR\nmodels: {a: [{in: 1, out: 2}], b: [{in: 3, out: 4}]}\n",
	}},
	"embedllm": {"folder", map[string]string{
		"folder/train.csv": "prompt_id,model_id,category_id,label,model_name,category,prompt\n1,0,0,1,a,u,x\n1,1,0,0,b,u,x\n2,0,0,1,a,u,xx\n2,1,0,1,b,u,xx\n5,0,0,1,a,u,xx\n5,1,0,1,b,u,xx\n",
		"folder/val.csv":   "prompt_id,model_id,category_id,label,model_name,category,prompt\n3,0,0,1,a,v,xxx\n3,1,0,0,b,v,xxx\n4,0,0,1,a,v,xxx\n4,1,0,0,b,v,xxx\n", "folder/model_order.csv": "model_id\n0\n",
	}},
	"llmrouterbench": {"bench", map[string]string{
		"bench/aime/test/a/1.json": `{"model_name":"a","dataset_name":"aime","split":"test","records":[{"index":1,"origin_query":"p","score":1,"cost":0.1},{"index":2,"origin_query":"q","score":1,"cost":0.1},{"index":3,"origin_query":"r","score":1,"cost":0.1},{"index":4,"origin_query":"s","score":1,"cost":0.1}]}`,
		"bench/aime/test/b/1.json": `{"records":[{"index":1,"origin_query":"p","score":0,"cost":0.2},{"index":2,"origin_query":"q","score":1,"cost":0.1},{"index":3,"origin_query":"r","score":1,"cost":0.1},{"index":4,"origin_query":"s","score":1,"cost":0.1}],"model_name":"b","dataset_name":"aime","split":"test"}`,
	}},
}

// rows are lines with the numbers from 1.
func rows(format string) string {
	var b strings.Builder
	for i := range 12 {
		fmt.Fprintf(&b, format, i+1)
	}
	return b.String()
}

// publishedIn writes the small table of a preset and returns the options that import it.
func publishedIn(t *testing.T, dir, preset string) Options {
	t.Helper()
	table := smallPublished[preset]
	o := Options{Preset: preset, In: storage.File(filepath.Join(dir, table.in)), Out: storage.File(filepath.Join(dir, "out", "costs.parquet"))}
	for name, text := range table.files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(name, "prices") {
			o.Prices = storage.File(path)
		}
	}
	return o
}

// TestExplainedPresets: the configuration that a preset stands for imports the same bytes, with and without an encoder.
// A new preset needs a small table here.
func TestExplainedPresets(t *testing.T) {
	for _, p := range outcome.Presets() {
		t.Run(p.Name, func(t *testing.T) {
			dir := t.TempDir()
			o := publishedIn(t, dir, p.Name)
			r, err := Run(t.Context(), o, nil)
			if err != nil {
				t.Fatal(err)
			}
			if r.Kept < 3 || !strings.Contains(r.Note, "features are only the length of ") {
				t.Errorf("%d instances, note %q", r.Kept, r.Note)
			}
			saved := Options{Config: storage.File(explained(t, o)), Out: storage.File(filepath.Join(dir, "out", "saved.parquet"))}
			if _, err := Run(t.Context(), saved, nil); err != nil {
				t.Fatal(err)
			}
			if a, b := readFile(t, o.Out.String()), readFile(t, saved.Out.String()); !bytes.Equal(a, b) {
				t.Error("the saved configuration makes another tensor")
			}
			o.Encoder = "org/model"
			want, err := o.load(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got, err := Load(t.Context(), storage.File(explained(t, o)))
			got.Preset = p.Name
			if err != nil || !reflect.DeepEqual(got, want) || len(got.Features[0].Text.Columns) != 1 || got.Features[0].Text.Encoder != "org/model" {
				t.Errorf("with an encoder: %+v, want %+v, %v", got.Features, want.Features, err)
			}
		})
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// explained saves the configuration that the options stand for.
func explained(t *testing.T, o Options) string {
	t.Helper()
	text, err := ExplainPreset(o)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "saved.yaml")
	var b bytes.Buffer
	if err := errors.Join(text.WriteText(&b), os.WriteFile(path, b.Bytes(), 0o666)); err != nil {
		t.Fatal(err)
	}
	return path
}

// A configuration that begins with a preset changes what it says and keeps the rest.
func TestConfigurationsFromPresets(t *testing.T) {
	dir := t.TempDir()
	o := publishedIn(t, dir, "embedllm")
	o.Config = storage.File(writeConfig(t, dir, "c.yaml", "preset: embedllm\noutcomes: {file: folder, columns: {split: part}}\nfees: {experts: {a: 1, b: 0}}\n"))
	o.Preset, o.In = "", storage.Location{}
	r, err := Run(t.Context(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := readTensor(t, o.Out.String())
	if r.Kept != 5 || got.Actions.Experts[0].Fee != 1 || !slices.Equal(got.Groups, []string{"1", "2", "5", "3", "4"}) || len(got.Rows(costs.Train)) != 3 || len(got.Rows(costs.Val)) != 2 {
		t.Errorf("%+v, groups %q", r.Report, got.Groups)
	}
	for text, want := range map[string]string{
		"preset: nothing\n":                                           `unknown preset "nothing"; known are embedllm, llmrouterbench, routerbench, sprout`,
		"preset: embedllm\n":                                          "outcomes.file is empty",
		"preset: sprout\noutcomes: {file: folder}\n":                  "columns of tokens or characters are set, but fees.prices is not",
		"preset: embedllm\noutcomes: {file: folder}\nfeature: none\n": `unknown key "feature"`,
		"preset: embedllm\noutcomes: {file: folder, rows: 3, wide: {score: \"{expert}\", pairs: [{expert: a, column: b}]}}\n": "outcomes.wide has patterns",
	} {
		o.Config = storage.File(writeConfig(t, dir, "bad.yaml", text))
		_, err := Run(t.Context(), o, nil)
		var bad *config.Error
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Every configuration on the page of presets is one.
func TestPageOfPresets(t *testing.T) {
	page := readFile(t, filepath.Join(realdata.Root(t), "docs", "presets.md"))
	blocks := regexp.MustCompile("(?s)```yaml\n(preset: .*?)```").FindAllSubmatch(page, -1)
	if len(blocks) < 4 {
		t.Fatalf("%d configurations", len(blocks))
	}
	for _, b := range blocks {
		if _, err := Load(t.Context(), storage.File(writeConfig(t, t.TempDir(), "c.yaml", string(b[1])))); err != nil {
			t.Errorf("%s%v", b[1], err)
		}
	}
	for _, name := range PresetNames() {
		if !bytes.Contains(page, []byte("--preset "+name+" ")) {
			t.Errorf("%s is not on the page", name)
		}
	}
}

func TestPresetOptions(t *testing.T) {
	dir := t.TempDir()
	o := publishedIn(t, dir, "sprout")
	for want, change := range map[string]func(*Options){
		"unknown preset":                     func(o *Options) { o.Preset = "x" },
		"--preset sprout needs --in":         func(o *Options) { o.In = storage.Location{} },
		"--preset sprout needs --prices":     func(o *Options) { o.Prices = storage.Location{} },
		"--preset and --config are both set": func(o *Options) { o.Config = storage.File("c.yaml") },
		"would replace":                      func(o *Options) { o.Out = o.Prices },
		"would be one of the files":          func(o *Options) { o.In, o.Out = storage.File(dir), storage.File(filepath.Join(dir, "new.parquet")) },
	} {
		changed := o
		change(&changed)
		_, err := Run(t.Context(), changed, nil)
		var option *stage.OptionError
		if !errors.As(err, &option) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := ExplainPreset(Options{Preset: "x"}); err == nil {
		t.Error("an unknown preset is explained")
	}
}
