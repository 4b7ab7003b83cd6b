package outcome

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// FuzzPresets: whatever a file holds, as CSV, as JSON lines and as JSON, an import with a preset gives a valid tensor or
// an error.
func FuzzPresets(f *testing.F) {
	for _, text := range []string{
		"sample_id,prompt,eval_name,a,a|total_cost,a|b|total_cost,a|b\n1,x,y,1,0.5,0,\n2,,y,1,0.5,0,1\n3,z,y,1,0.5,0,1\n",
		"prompt_id,category,model_name,prompt,label\n1,c,m,p,1\n1,c,n,p,0\n2,c,m,p,\n",
		`{"key":1,"prompt":"x","dataset":"y","m.n":{"score":1,"num_input_tokens":3,"num_output_tokens":4}}`,
		`{"key":1,"prompt":"x","dataset":"y","m":null}` + "\n" + `{"key":2,"prompt":"x","dataset":"y","m":{"score":0.5,"num_input_tokens":3,"num_output_tokens":4}}`,
		`{"model_name":"m","split":"s","dataset_name":"d","records":[{"index":1,"score":"0.5","cost":1,"origin_query":"q"},{"index":2}]}`,
	} {
		f.Add(text)
	}
	dir := f.TempDir()
	prices := filepath.Join(dir, "prices.yaml")
	if err := os.WriteFile(prices, []byte("currency: USD\nmodels: {m: [{in: 1, out: 2}], m.n: [{in: 1}]}\n"), 0o666); err != nil {
		f.Fatal(err)
	}
	var configs []Config
	for name, ending := range map[string]string{"routerbench": ".csv", "embedllm": ".csv", "sprout": ".jsonl", "llmrouterbench": ".json"} {
		p, _ := FindPreset(name)
		var c Config
		text := strings.NewReplacer(`"${FILE}"`, strconv.Quote(filepath.Join(dir, "t"+ending)), `"${PRICES}"`, strconv.Quote(prices)).Replace(p.Text)
		if err := yaml.Unmarshal([]byte(text), &c); err != nil {
			f.Fatal(err)
		}
		c.Preset = name
		configs = append(configs, c)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, c := range configs {
			if err := os.WriteFile(c.Outcomes.File.String(), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
			tensor, report, err := Import(context.Background(), c)
			if err != nil {
				continue
			}
			if err := tensor.Validate(); err != nil || report.Kept != tensor.Len() {
				t.Fatalf("imported by %s and invalid: %v, %+v", c.Preset, err, report)
			}
		}
	})
}
