package builder

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/experts/builder/part"
	"pipe/experts/builder/parttest"

	"pipe/onnx"
)

func netExpert(model string) part.ExpertConfig {
	return part.ExpertConfig{Name: "net", Kind: "onnx_table", Settings: map[string]any{"model": model, "columns": []string{"x"}}}
}

// TestBadInput breaks one thing at a time; the error must name the file, row
// and column, and nothing may be left behind.
func TestBadInput(t *testing.T) {
	type change = func(t *testing.T, w *world)
	edit := func(file, from, to string) change {
		return func(t *testing.T, w *world) { w.edit(t, file, from, to) }
	}
	set := func(do func(c *part.Config)) change { return func(_ *testing.T, w *world) { do(&w.cfg) } }
	for name, c := range map[string]struct {
		change change
		want   []string
	}{
		"duplicate id":      {edit("instances.csv", "r4,", "r3,"), []string{"instances.csv", "row 6", "column id", `"r3" is a duplicate of row 5`}},
		"empty id":          {edit("instances.csv", "r4,", ","), []string{"row 6", "column id", "is empty"}},
		"empty label":       {edit("instances.csv", "r4,dog", "r4,"), []string{"row 6", "column label", "is empty"}},
		"unknown split":     {edit("instances.csv", "r4,dog,train", "r4,dog,trian"), []string{"row 6", "column split", "trian"}},
		"ragged row":        {edit("instances.csv", "r4,dog", "r4,dog,dog"), []string{"instances.csv", "row 6", "the row has 6 fields, the header 5"}},
		"text for a number": {edit("instances.csv", "r4,dog,train,4", "r4,dog,train,four"), []string{"instances.csv", "row 6", "column x", `"four"`}},
		"missing number":    {edit("instances.csv", "r4,dog,train,4", "r4,dog,train,"), []string{"row 6", "column x", "is empty"}},
		"repeated column": {func(t *testing.T, w *world) {
			w.edit(t, "instances.csv", "split,x,y", "split,x,x")
			w.cfg.Features[0].Settings["columns"] = []string{"x"}
		}, []string{"instances.csv", "column x", "is a duplicate"}},
		"nameless column":       {set(func(c *part.Config) { c.Features[0].Settings["columns"] = []string{""} }), []string{"instances.csv", "without a name"}},
		"missing column":        {edit("instances.csv", "split,x,y", "split,x,z"), []string{"instances.csv", "column y", "is missing"}},
		"missing answers":       {edit("answers.csv", "r2,plain,none", "r2,other,none"), []string{"answers.csv", "1 answers are missing", "r2 under none"}},
		"second answer":         {edit("answers.csv", "r2,plain,none", "r1,plain,none"), []string{"answers.csv", "row 10", "second answer"}},
		"unknown prediction":    {edit("answers.csv", "r1,both,none,dog", "r1,both,none,cow"), []string{"answers.csv", "row 5", "column prediction", `"cow"`, "cat, dog, owl"}},
		"unknown advice":        {edit("answers.csv", "r1,both,none", "r1,both,magic"), []string{"row 5", "column advice", `"magic"`, "none, search"}},
		"negative measured fee": {edit("answers.csv", "r0,both,search,cat,0.25", "r0,both,search,cat,-1"), []string{"answers.csv", "row 3", "column fee", `"-1"`}},
		"missing file":          {func(t *testing.T, w *world) { os.Remove(filepath.Join(w.dir, "answers.csv")) }, []string{`expert "both"`, "answers.csv", "no such file"}},
		"not gzip": {func(t *testing.T, w *world) {
			w.write(t, "x.csv.gz", "id,label\n")
			w.cfg.Instances.Settings["file"] = "x.csv.gz"
		}, []string{"x.csv.gz", "not a gzip file"}},
		"empty file":     {func(t *testing.T, w *world) { w.write(t, "instances.csv", "") }, []string{"instances.csv", "is empty"}},
		"no rows":        {func(t *testing.T, w *world) { w.write(t, "instances.csv", "id,label,split,x,y\n") }, []string{"instances.csv", "no rows"}},
		"unknown label":  {set(func(c *part.Config) { c.Labels = []string{"cat", "dog"} }), []string{"instances", `"r2"`, `unknown label "owl"`}},
		"unknown kind":   {set(func(c *part.Config) { c.Experts[0].Kind = "oracle" }), []string{`expert "both"`, `"oracle"`, "onnx_table, precomputed"}},
		"unknown key":    {set(func(c *part.Config) { c.Features[0].Settings["colums"] = 1 }), []string{"features[0]", `unknown key "colums"`}},
		"wrong type":     {set(func(c *part.Config) { c.Features[0].Settings["columns"] = 1 }), []string{"features[0]", "columns", "not a number"}},
		"advice fee":     {set(func(c *part.Config) { c.Advice[0].Fee = 1 }), []string{"advice 0", "absence of advice is free"}},
		"same names":     {set(func(c *part.Config) { c.Experts[1].Name = "both" }), []string{`duplicate expert "both"`}},
		"not an advice":  {set(func(c *part.Config) { c.Experts[1].Unavailable = []string{"serch"} }), []string{`expert "plain"`, `no advice "serch"`}},
		"no features":    {set(func(c *part.Config) { c.Features = nil }), []string{"features"}},
		"image features": {set(func(c *part.Config) { c.Features[0] = part.Part{Kind: "pooled"} }), []string{"features[0] pooled", "has no image"}},
		"no model":       {set(func(c *part.Config) { c.Experts[0] = netExpert("instances.csv") }), []string{`expert "net"`, "instances.csv", "parse model"}},
		"no runtime": {func(t *testing.T, w *world) {
			parttest.LinearModel(t, filepath.Join(w.dir, "net.onnx"), onnx.Shape{onnx.Sym("n"), onnx.Fix(1)}, [][]float32{{1, 0, 0}})
			w.cfg.Experts[0] = netExpert("net.onnx")
		}, []string{`expert "net"`, "ONNX Runtime"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 12)
			c.change(t, w)
			_, err := w.run(context.Background())
			if err == nil {
				t.Fatal("no error")
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%v\ndoes not say %q", err, part)
				}
			}
			if _, err := os.Stat(w.out()); err == nil {
				t.Error("an output is left")
			}
		})
	}
}
