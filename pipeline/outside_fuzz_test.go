package pipeline

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/costs/build"
	"pipe/costs/outcome"
	"pipe/featurize"
	"pipe/internal/config"
	"pipe/onnx"
)

// FuzzConfigs: a configuration file of any command is problems that read as lines, or settings whose own check finds nothing.
func FuzzConfigs(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("..", "configs", "*.yaml"))
	if err != nil || len(files) == 0 {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for kind := range byte(6) {
			f.Add(text, kind)
		}
	}
	f.Add([]byte("outcomes: {file: a.csv, id: id, expert: e, loss: l}\nsplit: {kind: hash, validation: 0.2, test: 0.1, group: user}\nfees: {experts: {a: 1}}\n"), byte(0))
	f.Add([]byte("fraud: {split: {kind: random, train_rows: 10, validation_rows: -1, draws: 0}}\n"), byte(2))
	f.Add([]byte("columns: {id: a, label: b, groups: [{name: g, columns: [{name: x, kind: number}]}]}\n"), byte(1))
	f.Fuzz(func(t *testing.T, text []byte, kind byte) {
		imported := outcome.DefaultConfig()
		dst := []any{
			&imported, &schemaConfig{}, &fraudConfigFile{DefaultFraud()}, &feverConfigFile{Fever: DefaultFever()},
			&imagenetConfigFile{Costs: build.DefaultConfig(), Imagenet: DefaultImagenet()}, &syntheticFile{Synthetic: DefaultSynthetic()},
		}[kind%6]
		problems := config.Decode(text, "/", variables("A=1", "PIPE_DATA=/data"), dst)
		for _, p := range problems {
			if strings.TrimSpace(p) == "" || strings.Contains(p, "goroutine") {
				t.Errorf("a problem reads %q", p)
			}
		}
		if v, ok := dst.(config.Validator); ok && len(problems) == 0 && v.Validate() != nil {
			t.Errorf("%+v has problems: %v", dst, v.Validate())
		}
	})
}

// FuzzReadReport: a report is an error, or can be shown in every form and is written as it was read.
func FuzzReadReport(f *testing.F) {
	for _, file := range []string{"report.json"} {
		text, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"format":1,"rows":[{"method":"ours","true_loss_mean":0.1}],"cells":[{"name":"x","experts":["a"],"advice":["b"],"true_loss":[]}]}`))
	f.Add([]byte(`{"format":1,"best_advice":[{"experts":["a"]}],"advice":[{"advice":["none"],"share":[]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := ReadReport(bytes.NewReader(text))
		if err != nil {
			return
		}
		for _, write := range []func(io.Writer) error{r.WriteText, r.WriteMarkdown, r.WriteCSV, r.WriteHTML, r.WriteDisclosureCSV, r.WriteExpertCSV} {
			if err := write(io.Discard); err != nil {
				t.Fatal(err)
			}
		}
		var first, second bytes.Buffer
		if err := r.WriteJSON(&first); err != nil {
			t.Fatal(err)
		}
		again, err := ReadReport(bytes.NewReader(first.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if err := again.WriteJSON(&second); err != nil || first.String() != second.String() {
			t.Fatalf("%s\nis read as\n%s (%v)", &first, &second, err)
		}
	})
}

// FuzzTrainReport: whatever train.json of an earlier training holds, nothing is removed but policies of its folder.
func FuzzTrainReport(f *testing.F) {
	for _, text := range []string{`{"policies":[{"file":"old.onnx"}]}`, `{"policies":[{"file":"../keep.onnx"},{"file":"sub/keep.onnx"},{"file":"keep.txt"},{"file":"sub.onnx"}]}`, "null", "["} {
		f.Add([]byte(text))
	}
	above := f.TempDir()
	folder := filepath.Join(above, "policies")
	keep := []string{"../keep.onnx", "sub.onnx/keep.onnx", "keep.txt"}
	if err := os.MkdirAll(filepath.Join(folder, "sub.onnx"), 0o777); err != nil {
		f.Fatal(err)
	}
	for _, name := range append(keep, trainReportFile) {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o666); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for name, b := range map[string][]byte{trainReportFile: text, "old.onnx": nil} {
			if err := os.WriteFile(filepath.Join(folder, name), b, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		err := dropOthers(TrainOptions{Out: folder}, nil)
		for _, name := range keep {
			if _, missing := os.Stat(filepath.Join(folder, name)); missing != nil {
				t.Fatal(missing)
			}
		}
		if err != nil {
			t.Logf("%v", err) // a folder that is named as a policy
		}
	})
}

// FuzzFeaturizeReport: the report of a stage is an error that names its file, or can be shown.
func FuzzFeaturizeReport(f *testing.F) {
	f.Add([]byte(`{"rows":3,"train":2,"validation":1,"positive":0.5,"groups":[{"name":"g","columns":2}]}`))
	f.Add([]byte(`{"load":{"joined":1}}`))
	file := filepath.Join(f.TempDir(), "report.json")
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(file, text, 0o666); err != nil {
			t.Fatal(err)
		}
		r, err := readFeaturizeReport(file)
		if err != nil {
			if !strings.Contains(err.Error(), file) {
				t.Fatal(err)
			}
			return
		}
		if err := errors.Join(r.WriteText(io.Discard), r.WriteJSON(io.Discard)); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzInspectPolicy: a policy, a trained expert or an encoder with whatever metadata is an error about data, or is explained,
// as text and as JSON.
func FuzzInspectPolicy(f *testing.F) {
	p := randomPolicy(3, 4)
	p.Info = map[string]string{"guard": `{"rows": 3, "gain": 0.5, "confidence": 0.95, "sets": 2}`, "settings": `{"seed": 1}`}
	m, err := p.Export()
	if err != nil {
		f.Fatal(err)
	}
	good := m.Metadata()
	for key, value := range good {
		f.Add(key, value, "", "")
	}
	for _, pair := range [][4]string{
		{"pipe.lambda", "1e308"},
		{"pipe.lambda", "1e6"},
		{"pipe.kind", "expert"},
		{"pipe.kind", "encoder"},
		{"pipe.kind", "expert", "pipe.labels", `["a", null]`},
		{"pipe.note", `{"a":{"a":[1e400]}}`},
		{"pipe.note", `{"a":1,"a":2}`},
		{"pipe.encoder.format", "1", "pipe.encoder.info", `{"input":"text","dim":3,"max_length":1}`},
	} {
		f.Add(pair[0], pair[1], pair[2], pair[3])
	}
	path := filepath.Join(f.TempDir(), "policy.onnx")
	f.Fuzz(func(t *testing.T, key, value, key2, value2 string) {
		meta := map[string]string{}
		for k, v := range good {
			meta[k] = v
		}
		meta[key] = value
		if key2 != "" {
			meta[key2] = value2
		}
		m.SetMetadata(meta)
		if b, err := m.Marshal(); err != nil {
			return // text that is not UTF-8 cannot be written
		} else if _, err := onnx.Parse(b); err != nil {
			t.Fatal(err)
		} else if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		explainedOrBad(t, path)
	})
}

// explainedOrBad wants an explanation that can be shown, or an error about data that names the file.
func explainedOrBad(t *testing.T, path string) {
	t.Helper()
	e, err := Inspect(t.Context(), path, DefaultInspectOptions())
	var bad *costs.DataError
	switch {
	case err == nil:
		if err := e.WriteText(io.Discard); err != nil {
			t.Fatal(err)
		}
		if _, err := json.Marshal(e); err != nil {
			t.Fatal(err)
		}
	case !errors.As(err, &bad) || !strings.Contains(err.Error(), path):
		t.Fatalf("%v is no error about %s", err, path)
	}
}

// FuzzInspect: a file of any kind is an error about data that names it, or is explained, as text and as JSON.
func FuzzInspect(f *testing.F) {
	p, err := randomPolicy(3, 4).Export()
	if err != nil {
		f.Fatal(err)
	}
	b, err := p.Marshal()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte("PIPECKPT\x01"))
	f.Add([]byte("PAR1"))
	f.Add([]byte(`{"format":1,"labels":["0","1"],"groups":[{"name":"a"}],"columns":[{"name":"x","group":0,"kind":"number","std":1}],"rows":1}`))
	f.Add([]byte{})
	path := filepath.Join(f.TempDir(), "file")
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		explainedOrBad(t, path)
	})
}

// lengthEncoder encodes a text as its length, and refuses texts with an exclamation mark.
type lengthEncoder struct{ most int }

func (e lengthEncoder) info() featurize.EncoderInfo {
	return featurize.EncoderInfo{Input: featurize.InputText, Dim: 1}
}
func (e lengthEncoder) field() string { return "claim" }
func (e lengthEncoder) batch() int    { return e.most }
func (e lengthEncoder) close()        {}

func (e lengthEncoder) encode(_ context.Context, dst []float32, rows []encodedRow) error {
	for i, row := range rows {
		if dst[i] = float32(len(row.value)); strings.Contains(row.value, "!") {
			return &rowError{row: i, err: errors.New("shouts")}
		}
	}
	return nil
}

// FuzzDecideEncoded feeds texts as CSV and JSONL to a policy with an encoder: rows of one feature, the length of the text, as
// many for any size of a batch, or an error about data that names the file.
func FuzzDecideEncoded(f *testing.F) {
	for _, text := range []string{"id,claim\na,x y\n,z\n", "claim\n\"a\nb\"\n", "{\"id\":7,\"claim\":\"x\",\"k\":[]}\n{\"claim\":\"y\"}", "{\"claim\":null}", "id\na\n", "claim\na!\n", ""} {
		f.Add([]byte(text), false)
		f.Add([]byte(text), true)
	}
	f.Fuzz(func(t *testing.T, text []byte, lines bool) {
		o := DecideOptions{In: "-", InFormat: formatCSV}
		if lines {
			o.InFormat = formatJSONL
		}
		decided := func(most int) (ids []string, features []float32, err error) {
			s := &encodedSource{ctx: t.Context(), file: "rows", encoder: lengthEncoder{most}, most: most}
			defer s.close()
			if err := s.start(bufio.NewReader(bytes.NewReader(text)), o); err != nil {
				return nil, nil, err
			}
			for {
				b, err := s.next()
				if errors.Is(err, io.EOF) {
					return ids, features, nil
				}
				if err != nil {
					return ids, features, err
				}
				if len(b.ids) == 0 || len(b.ids) > most || len(b.features) != len(b.ids) {
					t.Fatalf("%d ids and %d features", len(b.ids), len(b.features))
				}
				ids, features = append(ids, b.ids...), append(features, b.features...)
			}
		}
		ids, features, err := decided(2)
		all, same, err2 := decided(1 << 10)
		var bad *costs.DataError
		if (err == nil) != (err2 == nil) || err != nil && (!errors.As(err, &bad) || bad.File != "rows" || bad.Error() == "") {
			t.Fatalf("%v, and in one batch %v", err, err2)
		}
		if err == nil && (!slices.Equal(ids, all) || !slices.Equal(features, same)) {
			t.Fatalf("%q %v, and in one batch %q %v", ids, features, all, same)
		}
	})
}
