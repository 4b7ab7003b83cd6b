package outcome

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"pipe/costs"
	"pipe/internal/judge"
	"pipe/internal/storage"
)

// publishedTables makes small tables of the shapes that the presets are for, with gaps, and works out what an import
// gives, row by row and without our rules for patterns and paths.
const publishedTables = `
import sys, os, json, random, gzip
import numpy as np, pandas as pd, pyarrow as pa, pyarrow.parquet as pq
out, rnd = sys.argv[1], random.Random(11)
want = {}
def gap(make, share=0.1): return None if rnd.random() < share else make()
def add(name, rows, experts, categories, kind):
  """rows: (id, text, category, group, {expert: (score, fee)}) in the order of appearance."""
  kept = [r for r in rows if all(r[4].get(e, (None,))[0] is not None for e in experts)]
  levels = sorted({r[2] for r in kept})
  want[name] = {"ids": [r[0] for r in kept], "experts": experts, "dropped": len(rows) - len(kept),
    "loss": [[1 - r[4][e][0] for e in experts] for r in kept], "fee": [[r[4][e][1] for e in experts] for r in kept] if kind else None,
    "groups": [r[3] for r in kept] if kept[0][3] is not None else None,
    "features": [[len(r[1])] + [int(r[2] == c) for c in levels] for r in kept]}

# RouterBench: wide, one row per prompt
models = ["gpt-3.5-turbo-1106", "WizardLM/WizardLM-13B-V1.2", "mistralai/mixtral-8x7b-chat"]
frame, rows = [], []
for i in range(150):
  name = rnd.choice(["mmlu", "mbpp", "hellaswag"])
  r = {"sample_id": "%s.val.%d" % (name, i), "prompt": "['Frage %d äé']" % (7 ** rnd.randrange(9)), "eval_name": name}
  scores = {m: gap(lambda: rnd.choice([0.0, 1.0, 0.25, 0.75]), 0.03) for m in models}
  price = {m: rnd.random() / 1e3 for m in models}
  r.update(scores)
  r.update({m + "|model_response": "['C']" for m in models})
  r.update({m + "|total_cost": None if scores[m] is None and i % 2 else price[m] for m in reversed(models)})
  r["oracle_model_to_route_to"] = "no_model_correct"
  frame.append(r); rows.append((r["sample_id"], r["prompt"], name, None, {m: (scores[m], 100 * price[m]) for m in models}))
frame = pd.DataFrame(frame)
frame.to_parquet(out + "/routerbench.parquet"); frame.to_csv(out + "/routerbench.csv.gz", index=False)
frame.to_json(out + "/routerbench.jsonl", orient="records", lines=True, double_precision=15)
for ending in ("parquet", "csv.gz", "jsonl"): add("routerbench." + ending, rows, models, None, "fee")
frame.to_pickle(out + "/routerbench.pkl")

# SPROUT: wide, a struct per model, Parquet files of three splits
models = ["openai-gpt-4o", "wxai-llama-3.1-8b", "aws-titan"]
prices = {"openai-gpt-4o": (2.5, 10), "wxai-llama-3.1-8b": (0.2, 0.2), "aws-titan": (0.5, 1.5)}
json.dump({"currency": "USD", "models": {m: [{"in": p[0], "out": p[1]}] for m, p in prices.items()}}, open(out + "/prices.json", "w"))
inner = pa.struct([("judge_response", pa.string()), ("num_input_tokens", pa.int64()), ("num_output_tokens", pa.int64()), ("response", pa.string()), ("score", pa.float64())])
schema = pa.schema([("key", pa.string()), ("dataset", pa.string()), ("dataset_level", pa.string()), ("dataset_idx", pa.int64()), ("prompt", pa.string()), ("golden_answer", pa.string())] + [(m, inner) for m in models])
os.mkdir(out + "/sprout"); rows, lines = [], []
for part in ("test-00000-of-00001", "train-00000-of-00002", "train-00001-of-00002", "validation-00000-of-00001"):
  records = []
  for i in range(40):
    r = {"key": "%s-%d" % (part, i), "dataset": rnd.choice(["MATH", "a/openhermes"]), "dataset_level": None, "dataset_idx": i, "prompt": "p" * rnd.randrange(1, 90), "golden_answer": "x"}
    for m in models: r[m] = gap(lambda: {"judge_response": "{}", "num_input_tokens": rnd.randrange(900), "num_output_tokens": rnd.randrange(900), "response": None, "score": gap(lambda: rnd.randrange(11) / 10, 0.03)}, 0.03)
    if not lines: r[models[0]] = None
    records.append(r); lines.append(r)
    cost = lambda m: r[m] and 100 * (r[m]["num_input_tokens"] * prices[m][0] + r[m]["num_output_tokens"] * prices[m][1]) / 1e6
    rows.append((r["key"], r["prompt"], r["dataset"], None, {m: (r[m] and r[m]["score"], cost(m)) for m in models}))
  pq.write_table(pa.Table.from_pylist(records, schema), out + "/sprout/" + part + ".parquet", row_group_size=16)
add("sprout", rows, models, None, "fee")
with open(out + "/sprout.jsonl", "w") as f: f.write("\n".join(json.dumps(r) for r in lines))
add("sprout.jsonl", rows, models, None, "fee")

# EmbedLLM: long, a row per prompt and model, three files beside two others
models = ["Qwen__Qwen1.5-7B-Chat", "meta-llama__Llama-2-13b-chat-hf", "x"]
os.mkdir(out + "/embedllm"); rows, train = [], None
for part in ("test", "train", "val"):
  records, here = [], []
  for i in range(40):
    for category in rnd.sample(["mathqa", "mmlu_law", "social_iqa"], rnd.choice([1, 1, 2])):
      prompt = "Frage %d\n\"x\", y" % (3 ** i); label = {m: gap(lambda: rnd.randrange(2), 0.03) for m in models}
      for k, m in enumerate(models): records.append({"prompt_id": "%s%d" % (part[:2], i), "model_id": k, "category_id": 3, "label": label[m], "model_name": m, "category": category, "prompt": prompt})
      here.append(("%s%d/%s" % (part[:2], i, category), prompt, category, "%s%d" % (part[:2], i), {m: (label[m], None) for m in models}))
  pd.DataFrame(records).astype({"label": "Int64"}).to_csv(out + "/embedllm/" + part + ".csv", index=False)
  rows += here
  if part == "train": train = here
pd.DataFrame({"prompt_id": [1], "prompt": ["a"]}).to_csv(out + "/embedllm/question_order.csv", index=False)
add("embedllm", rows, models, None, None); add("embedllm/train.csv", train, models, None, None)

# LLMRouterBench: a JSON file per data set, split and model, at two depths
models = ["Fin-R1", "Qwen3-8B", "gpt-5"]
rows = []
for dataset, split, depth in (("aime", "hybrid", True), ("arenahard", "test", False), ("hle", "subset_500", True), ("hle", "test", True)):
  n = 12
  scores = {m: [gap(lambda: rnd.choice([0, 1, 0.5, "1", "0.0"]), 0.03) for _ in range(n)] for m in models}
  fee = {m: [rnd.random() / 50 for _ in range(n)] for m in models}
  query = ["Q%d of %s %s" % (10 ** rnd.randrange(7), dataset, "é" * i) for i in range(n)]
  for m in models:
    records = [{"index": i + 1, "origin_query": query[i], "prompt": "P", "prediction": "4", "ground_truth": ["4"], "score": scores[m][i], "prompt_tokens": 15, "completion_tokens": 5, "cost": fee[m][i], "raw_output": {"a": 1}} for i in range(n)]
    folder = "/".join([out, "llmrouterbench", dataset] + ([split] if depth else []) + [m]); os.makedirs(folder)
    whole = {"performance": 0.85, "time_taken": 120.5, "prompt_tokens": 50000, "completion_tokens": 20000, "cost": 0.15, "counts": n, "model_name": m, "dataset_name": dataset, "split": split, "demo": False, "records": records}
    if m == "gpt-5": whole = {k: whole[k] for k in sorted(whole)}
    json.dump(whole, open("%s/%s-%s-%s-20250901_120000.json" % (folder, dataset, split, m), "w"), indent=2)
  for i in range(n): rows.append(("%s/%s/%d" % (dataset, split, i + 1), query[i], dataset, query[i], {m: (None if scores[m][i] is None else float(scores[m][i]), 10 * fee[m][i]) for m in models}))
add("llmrouterbench", rows, models, None, "fee")
json.dump(want, open(out + "/want", "w"))
`

// published is what Python expects of an import.
type published struct {
	IDs      []string    `json:"ids"`
	Experts  []string    `json:"experts"`
	Dropped  int         `json:"dropped"`
	Loss     [][]float64 `json:"loss"`
	Fee      [][]float64 `json:"fee"`
	Groups   []string    `json:"groups"`
	Features [][]float64 `json:"features"`
}

// fromPreset is the configuration of a preset for a file.
func fromPreset(t *testing.T, name, file, prices string) Config {
	t.Helper()
	p, ok := FindPreset(name)
	if !ok {
		t.Fatalf("no preset %q", name)
	}
	text := strings.NewReplacer(`"${FILE}"`, strconv.Quote(file), `"${PRICES}"`, strconv.Quote(prices)).Replace(p.Text)
	c := DefaultConfig()
	dec := yaml.NewDecoder(bytes.NewReader([]byte(text)))
	dec.KnownFields(true)
	if err := dec.Decode(&c); err != nil {
		t.Fatal(err)
	}
	c.Preset = name
	return c
}

// near compares with a float32 that was rounded once.
func near(got float32, want float64) bool { return math.Abs(float64(got)-want) <= 1e-6*math.Abs(want) }

func TestPresetsAsPythonPivotsThem(t *testing.T) {
	dir := t.TempDir()
	judge.Run(t, judge.Python(t, "pandas", "pyarrow"), dir, publishedTables, dir)
	b, err := os.ReadFile(filepath.Join(dir, "want"))
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]published
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	for file, want := range all {
		t.Run(file, func(t *testing.T) {
			preset, _, _ := strings.Cut(strings.ReplaceAll(file, "/", "."), ".")
			got, report, err := Import(context.Background(), fromPreset(t, preset, filepath.Join(dir, file), filepath.Join(dir, "prices.json")))
			if err != nil {
				t.Fatal(err)
			}
			var dropped int
			for _, d := range report.Dropped {
				dropped += d.Count
			}
			var experts []string
			for _, e := range got.Actions.Experts {
				experts = append(experts, e.Name)
			}
			if !slices.Equal(got.IDs, want.IDs) || !slices.Equal(experts, want.Experts) || !slices.Equal(got.Groups, want.Groups) || dropped != want.Dropped || dropped == 0 {
				t.Fatalf("%d instances, experts %q, %d dropped, first ids %q", got.Len(), experts, dropped, got.IDs[:min(3, got.Len())])
			}
			if got.Dim != len(want.Features[0]) || (got.Fee == nil) != (want.Fee == nil) {
				t.Fatalf("%d features %q, fees %v", got.Dim, report.FeatureNames, got.Fee != nil)
			}
			a := len(experts)
			for n := range got.IDs {
				for j := range a {
					if !near(got.Loss[n*a+j], want.Loss[n][j]) || want.Fee != nil && !near(got.Fee[n*a+j], want.Fee[n][j]) {
						t.Fatalf("%s, %s: loss %v, want %v", got.IDs[n], experts[j], got.Loss[n*a+j], want.Loss[n][j])
					}
				}
				for i, v := range want.Features[n] {
					if float64(got.Row(n)[i]) != v {
						t.Fatalf("%s: feature %d is %v, want %v", got.IDs[n], i, got.Row(n)[i], v)
					}
				}
			}
		})
	}
	splits := fromPreset(t, "sprout", filepath.Join(dir, "sprout"), filepath.Join(dir, "prices.json"))
	splits.Outcomes.Paths, splits.Outcomes.Columns.Split = "{part:train|validation|test}-*.parquet", "part"
	splits.Split.Names = map[string]string{"validation": "val"}
	got, _, err := Import(context.Background(), splits)
	if err != nil {
		t.Fatal(err)
	}
	for n, id := range got.IDs {
		if !strings.HasPrefix(id, got.Splits[n].String()) {
			t.Errorf("%s is in %s", id, got.Splits[n])
		}
	}
	_, _, err = Import(context.Background(), fromPreset(t, "routerbench", filepath.Join(dir, "routerbench.pkl"), ""))
	var hint interface{ Hint() string }
	if !errors.As(err, &hint) || !strings.Contains(hint.Hint(), "pd.read_pickle(") {
		t.Errorf("a pickle: %v", err)
	}
}

// A table of another shape is one error that names the preset and what it expects.
func TestWrongShapes(t *testing.T) {
	for _, c := range []struct{ preset, name, text, want string }{
		{"routerbench", "t.csv", "sample_id,prompt,eval_name,a,b\n1,x,y,0,1\n", `no column fits "{expert}|total_cost"; the table has sample_id`},
		{"routerbench", "t.csv", "sample_id,prompt,eval_name,a|total_cost\n1,x,y,0\n", "column a: is missing, although the table has other columns of the expert"},
		{"routerbench", "t.csv", "prompt,eval_name,a,a|total_cost\nx,y,0,1\n", "column sample_id: is missing; the table has prompt"},
		{"routerbench", "t.csv", "sample_id,a,a|total_cost\nx,0,1\n", "column prompt: is missing; the table has sample_id"},
		{"sprout", "t.jsonl", `{"key":1,"prompt":"x","dataset":"y","m":{"score":1,"num_input_tokens":3}}`, "column m.num_output_tokens: is missing"},
		{"sprout", "t.jsonl", `{"key":1,"prompt":"x","dataset":"y","m":1}`, `no column fits "{expert}.score"`},
		{"embedllm", "t.csv", "prompt_id,model_name,prompt,label\n1,m,x,0\n", "column category: is missing"},
		{"llmrouterbench", "t.json", `[{"index":1,"score":1}]`, `is not a JSON object with a list "records"`},
		{"llmrouterbench", "t.json", `{"model_name":"m","split":"x","dataset_name":"y","records":[{"index":1,"cost":1,"origin_query":"q"}]}`, "column records.score: is missing"},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, c.name)
		prices := filepath.Join(dir, "p.json")
		for file, text := range map[string]string{path: c.text, prices: `{"currency":"USD","models":{"m":[{"in":1,"out":1}]}}`} {
			if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		_, _, err := Import(context.Background(), fromPreset(t, c.preset, path, prices))
		p, _ := FindPreset(c.preset)
		var data *costs.DataError
		if !errors.As(err, &data) || data.File != path || !strings.Contains(err.Error(), c.want) || !strings.HasSuffix(err.Error(), "; the preset "+c.preset+" expects "+p.Expects) {
			t.Errorf("%s, %s: %v", c.preset, c.text, err)
		}
	}
}

// What is wrong in a row is an error about the row, without the shape of the table.
func TestRowsOfPresets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	for text, want := range map[string]string{
		"sample_id,prompt,eval_name,a,a|total_cost\n1,x,y,2,0.1\n":            "row 2: column a: is 2, outside 0 to 1",
		"sample_id,prompt,eval_name,a,a|total_cost\n1,x,y,1,-1\n":             "row 2: column a|total_cost: is -1; a fee must not be negative",
		"sample_id,prompt,eval_name,a,a|total_cost\n1,x,y,1,1\n1,x,y,1,1\n":   "row 3: column sample_id: \"1\" is a duplicate",
		"sample_id,prompt,eval_name,a,a|total_cost\n1,x,y,None,1\n1,x,y,1,\n": `row 2: column a: "None" is not a number`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		_, _, err := Import(context.Background(), fromPreset(t, "routerbench", path, ""))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "expects") {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// Rows of an instance must agree on its features.
func TestFeaturesOfLongTables(t *testing.T) {
	config := func(text string) Config {
		path := filepath.Join(t.TempDir(), "t.csv")
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		var c Config
		c.Outcomes = Table{File: storage.File(path), Columns: Columns{ID: "id", Expert: "m", Loss: "l"}}
		c.Features = []FeatureTable{{ID: "id", Columns: []string{"x"}, Length: []string{"p"}, Categorical: []string{"c"}}}
		return c
	}
	got, _, err := Import(context.Background(), config("id,m,l,x,p,c\n1,a,0,3,ab,u\n2,a,1,4,,v\n2,b,0,4,,v\n1,b,1,3,ab,u\n"))
	if err != nil || !slices.Equal(got.Features, []float32{3, 2, 1, 0, 4, 0, 0, 1}) {
		t.Errorf("%v, %v", got, err)
	}
	for row, want := range map[string]string{
		"1,b,1,5,ab,u":  "row 3: column x: is 5, but earlier in the same instance 3",
		"1,b,1,3,abc,u": "row 3: column length of p: is 3, but earlier in the same instance 2",
		"1,b,1,3,ab,w":  `row 3: column c: is "w", but earlier in the same instance "u"`,
		"1,b,1,,ab,u":   "row 3: some features are missing in this row",
	} {
		_, _, err := Import(context.Background(), config("id,m,l,x,p,c\n1,a,0,3,ab,u\n"+row+"\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", row, err)
		}
	}
}

// Patterns of wide tables find the same pairs as a list.
func TestWidePatterns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	header := "id,a.b+none,a.b+none fee,c+none,c+none fee,a.b+web,a.b+web fee,c+web,c+web fee,x"
	if err := os.WriteFile(path, []byte(header+"\n1,0,1,1,2,0.5,3,0.25,4,9\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	var c Config
	c.Outcomes = Table{File: storage.File(path), Columns: Columns{ID: "id"}, Wide: WideForm{WidePattern: WidePattern{Loss: "{expert}+{advice}", Fee: "{expert}+{advice} fee"}}}
	c.Features = []FeatureTable{{ID: "id", Columns: []string{"x"}}}
	_, _, err := Import(context.Background(), c)
	if err == nil || !strings.Contains(err.Error(), `column a.b+none fee fee: is missing`) { // "none fee" is read as an advice
		t.Errorf("patterns of which one fits the columns of the other: %v", err)
	}
	c.Advice, c.IgnoreUnlisted = []string{"none", "web"}, true
	got, _, err := Import(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	if names := fmt.Sprint(got.Actions.Names()); names != "[a.b/none a.b/web c/none c/web]" || !slices.Equal(got.Loss, []float32{0, 0.5, 1, 0.25}) || !slices.Equal(got.Fee, []float32{1, 3, 2, 4}) {
		t.Errorf("%s %v %v", names, got.Loss, got.Fee)
	}
	c.Outcomes.Wide.WidePattern = WidePattern{Loss: "{expert}"}
	if _, _, err := Import(context.Background(), c); err == nil || !strings.Contains(err.Error(), "list the experts") {
		t.Errorf("a pattern for every column: %v", err)
	}
	c.Experts, c.Advice, c.IgnoreUnlisted = []string{"c+web", "a.b+web"}, nil, false
	if got, _, err = Import(context.Background(), c); err != nil || !slices.Equal(got.Loss, []float32{0.25, 0.5}) {
		t.Errorf("experts by name: %v", err)
	}
	c.Experts = []string{"c+web", "d"}
	if _, _, err = Import(context.Background(), c); err == nil || !strings.Contains(err.Error(), "column d: is missing") {
		t.Errorf("an expert without a column: %v", err)
	}
	for want, p := range map[string]WidePattern{
		`"{expert" has a {`: {Loss: "{expert"}, "has no {expert}": {Loss: "loss"}, "{who} is not known": {Loss: "{expert} {who}"},
		"exactly one of":                     {Fee: "{expert} fee"},
		"either all patterns have {advice}":  {Loss: "{expert}+{advice}", Fee: "{expert} fee"},
		`has no text between two names`:      {Loss: "{expert}{advice}"},
		`is missing, although the table has`: {Loss: "{expert}+web", Fee: "{expert}+web price"},
	} {
		c.Experts = nil
		c.Outcomes.Wide.WidePattern = p
		if _, _, err := Import(context.Background(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", p, err, want)
		}
	}
	if err := os.WriteFile(path, []byte("id,a+b+c,x\n1,0,1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	c.Outcomes.Wide.WidePattern = WidePattern{Loss: "{expert}+{advice}"}
	if _, _, err := Import(context.Background(), c); err == nil || !strings.Contains(err.Error(), `fits "{expert}+{advice}" in more`) {
		t.Errorf("a column that can be read in two ways: %v", err)
	}
}
