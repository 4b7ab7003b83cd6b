package decide_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"testing"

	"pipe/costs"
	"pipe/models/policy"
	"pipe/onnx/hf/hftest"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decide"
	"pipe/pipeline/decide/decidetest"
)

func TestMain(m *testing.M) { orttest.Main(m) }

// A policy that was trained on the vectors of texts decides on texts. In experts.yaml, the features are
// [{kind: text, encoder: small}], where small is a folder with a model, such as a download of all-MiniLM-L6-v2:
//
//	pipe costs --config experts.yaml --out costs.parquet
//	pipe train --in costs.parquet --out texts
//
// files puts a tiny model and a policy with random weights in their places.
func ExampleRouter_Text() {
	folder, remove := files()
	defer remove()
	r, err := decide.Open(context.Background(), filepath.Join(folder, "texts", "auto-lambda1.onnx"), decide.Options{Encoder: filepath.Join(folder, "small")})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	d, err := r.Text(context.Background(), "how high is the Eiffel Tower?")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("expert:", d.Expert)
	fmt.Println("advice:", d.Advice)
	for _, i := range r.Ranked(d) {
		fmt.Println(r.Info().Actions.Name(i))
	}
	// Output:
	// expert: small
	// advice: none
	// small/none
	// large/search
	// small/search
	// large/none
}

// A policy that was trained on the columns of an encoded table decides on raw columns. In experts.yaml, the instances are
// {kind: tabular, file: table/table.parquet}, the split {kind: column}, and the features [{kind: groups, groups: [base]}]:
//
//	pipe featurize --columns columns.yaml --in rows.csv --out table
//	pipe costs --config experts.yaml --out costs.parquet
//	pipe train --in costs.parquet --out rows
//
// files puts a small table/encoder.json, as pipe featurize leaves it, and a policy with random weights in their places.
func ExampleRouter_Row() {
	folder, remove := files()
	defer remove()
	r, err := decide.Open(context.Background(), filepath.Join(folder, "rows", "auto-lambda1.onnx"), decide.Options{Encoder: filepath.Join(folder, "table", "encoder.json")})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	fmt.Println("columns:", r.Columns())
	d, err := r.Row(context.Background(), map[string]string{"amount": "120.50", "n_1": "x"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Expert, d.Advice)
	// The same row, if that expert is not available.
	if d, err = r.Without(d, policy.Expert(d.Expert)); err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Expert, d.Advice)
	// Output:
	// columns: [amount when n_1]
	// small search
	// large search
}

// A policy that was trained on the vectors of images decides on the bytes of an image's file. In experts.yaml, the
// features are [{kind: image, encoder: clip}], where clip is a folder with a model, such as a download of
// clip-vit-base-patch32:
//
//	pipe costs --config experts.yaml --out costs.parquet
//	pipe train --in costs.parquet --out images
//
// files puts a tiny model and a policy with random weights in their places. decidetest.PNG returns the bytes of a PNG file,
// for which a program calls os.ReadFile.
func ExampleRouter_Image() {
	folder, remove := files()
	defer remove()
	r, err := decide.Open(context.Background(), filepath.Join(folder, "images", "auto-lambda1.onnx"), decide.Options{Encoder: filepath.Join(folder, "clip")})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	d, err := r.Image(context.Background(), decidetest.PNG())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Expert, d.Advice)
	// Output:
	// small none
}

// Features that were computed elsewhere need no encoder:
//
//	pipe import --config outcomes.yaml --out costs.parquet
//	pipe train --in costs.parquet --out features
//
// files puts a policy with random weights in the place of that of pipe train.
func ExampleRouter_Features() {
	folder, remove := files()
	defer remove()
	r, err := decide.Open(context.Background(), filepath.Join(folder, "features", "auto-lambda1.onnx"), decide.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	for _, x := range [][]float32{{1, 0}, {0, 1}} {
		d, err := r.Features(context.Background(), x)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(x, d.Expert, d.Advice)
	}
	// Output:
	// [1 0] large none
	// [0 1] large search
}

// files makes a folder with what the commands of the examples leave: tiny encoders, and a policy with random weights for
// each. A program does not need it.
func files() (folder string, remove func()) {
	folder, err := os.MkdirTemp("", "decide")
	if err != nil {
		log.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(folder, name) }
	for _, name := range []string{"small", "clip", "table", "texts", "images", "rows", "features"} {
		if err := os.Mkdir(in(name), 0o777); err != nil {
			log.Fatal(err)
		}
	}
	for _, make := range []func() error{
		func() error { return hftest.WriteBERT(in("small")) },
		func() error { return hftest.WriteCLIP(in("clip"), hftest.SpellingCLIP(1)) },
		func() error { return decidetest.WriteTable(in("table/encoder.json")) },
		func() error {
			return decidetest.WriteEncoderPolicy(in("texts/auto-lambda1.onnx"), hftest.Hidden, costs.FeatureSource{Name: "text small", Dim: hftest.Hidden}, "")
		},
		func() error {
			return decidetest.WriteEncoderPolicy(in("images/auto-lambda1.onnx"), 12, costs.FeatureSource{Name: "image clip", Dim: 12}, "")
		},
		func() error {
			source := costs.FeatureSource{Name: "groups base", Dim: decidetest.TableDim}
			return decidetest.WriteEncoderPolicy(in("rows/auto-lambda1.onnx"), decidetest.TableDim, source, "")
		},
		func() error {
			return decidetest.WriteEncoderPolicy(in("features/auto-lambda1.onnx"), 2, costs.FeatureSource{}, "")
		},
	} {
		if err := make(); err != nil {
			log.Fatal(err)
		}
	}
	return folder, func() { os.RemoveAll(folder) }
}
