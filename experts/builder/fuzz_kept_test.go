package builder

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"math"
	"slices"
	"testing"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/experts/chat"
	"pipe/internal/fuzztest"
	"pipe/internal/progress"
)

// FuzzManifest: the manifest of a build is an error about the file, or is written again as it was read.
func FuzzManifest(f *testing.F) {
	for _, m := range []*manifest{
		{Inputs: part.Inputs{"model of expert \"a\"": "sha256:00"}},
		{Done: &done{File: "sha256:00", Actions: "sha256:01", Answers: []chat.AnswerCount{{Part: "p", Asked: 3, Money: 0.5}}}, Latency: []PairLatency{{"a", "none", 0.1, 2}}},
	} {
		m.Format = manifestFormat
		b, err := json.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(`{"format":2}`))
	f.Add([]byte(`null`))
	f.Add([]byte(`{"format":1,"inputs":{"a":"1","a":"2"}}`))
	w := &work{folder: f.TempDir()}
	file := fuzztest.File(w.file(manifestName))
	f.Fuzz(func(t *testing.T, b []byte) {
		file.Write(t, b)
		m, err := w.read()
		if err != nil {
			file.Blames(t, err)
			return
		}
		if changes := difference(m.Inputs, m.Inputs); changes != nil {
			t.Fatal(changes)
		}
		difference(m.Inputs, part.Inputs{"a": "sha256:00", part.ImagePrefix + "b": "1"})
		if err := w.write(m); err != nil {
			t.Fatal(err)
		}
		again, err := w.read()
		text, _ := json.Marshal(m)
		back, _ := json.Marshal(again)
		fuzztest.Same(t, string(back), string(text), err)
	})
}

// FuzzCounts: what was counted of a shard's answers is an error about the file, or counts of the parts that ask, none of them
// below 0; written again they are the same.
func FuzzCounts(f *testing.F) {
	b, err := json.Marshal([]chat.AnswerCount{{Part: "a", Asked: 1, Cached: 2, PromptTokens: 30, Money: 0.25}, {Part: "b"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	for _, text := range []string{"null", "[]", `[{"part":"c"}]`, `[{"part":"a","asked":-1}]`, `[{"part":"a","asked":9223372036854775807},{"part":"a","asked":1}]`} {
		f.Add([]byte(text))
	}
	w := &work{folder: f.TempDir()}
	build := &part.Build{Progress: progress.Silent{}}
	p := &plan{session: chat.OpenSession(build, "", nil)}
	for _, part := range []string{"a", "b"} {
		if err := chat.CountAnswers(build.Setup(part)); err != nil {
			f.Fatal(err)
		}
	}
	file := fuzztest.File(w.countsFile(0))
	f.Fuzz(func(t *testing.T, b []byte) {
		file.Write(t, b)
		counts, err := w.loadCounts(p, 0)
		if err != nil {
			file.Blames(t, err)
			return
		}
		var all chat.Tally
		all.AddAll(counts)
		for _, c := range all.Of(p.session.Parts()) {
			if !c.Possible() {
				t.Fatalf("%+v", c)
			}
		}
		fuzztest.Same(t, len(p.session.Parts()), len(counts), nil)
		if err := w.saveCounts(0, counts); err != nil {
			t.Fatal(err)
		}
		again, err := w.loadCounts(p, 0)
		fuzztest.Same(t, again, counts, err)
	})
}

// FuzzLatency: a file of measured times is of something else, or holds times that are checked before they are used: those of
// the pairs, in their order, that a clock can measure.
func FuzzLatency(f *testing.F) {
	const of = "sha256:00"
	for _, text := range []string{
		`{"format":1,"of":"sha256:00","pairs":[{"expert":"a","advice":"none","seconds":0.5}]}`, `{"format":1,"of":"sha256:00"}`, `null`, `{"format":2}`, `[`,
		`{"format":1,"of":"sha256:00","pairs":[{"expert":"a","advice":"none","seconds":1e308,"fee":-1}]}`,
	} {
		f.Add([]byte(text))
	}
	file := fuzztest.NewFile(f, "latency.json")
	f.Fuzz(func(t *testing.T, b []byte) {
		pairs, err := readLatency(file.Write(t, b), of)
		if err != nil {
			t.Fatal(err)
		}
		p := &plan{
			cfg:     &part.Config{Advice: []part.AdviceConfig{{Name: "none"}}, Latency: part.LatencyConfig{FeePerSecond: part.MaxFeePerSecond}},
			Build:   &part.Build{Levels: []part.Level{{Name: "none"}}, Experts: []part.NamedExpert{{Expert: &fixedExpert{}, Name: "a", Takes: []bool{true}}}},
			actions: &costs.Actions{Experts: []costs.Expert{{Name: "a"}}, Advice: []costs.Advice{{Name: "none"}}, Digests: map[string]string{}},
		}
		if p.useLatency(pairs) != nil || pairs == nil {
			return
		}
		if fee := p.latencyFee[0]; !(fee >= 0) || math.IsInf(float64(fee), 0) || len(p.latencyFee) != 1 {
			t.Fatalf("fees %v", p.latencyFee)
		}
		if err := (&latencyRecord{Format: latencyFormat, Of: of, Pairs: pairs}).write(string(file)); err != nil {
			t.Fatal(err)
		}
		again, err := readLatency(string(file), of)
		fuzztest.Same(t, again, pairs, err)
	})
}

// fixedExpert takes no time.
type fixedExpert struct{ part.Expert }

// FuzzAuditPart: the audit of a shard is an error about the file, or is copied; one that is whole is copied whole.
func FuzzAuditPart(f *testing.F) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	zip := func(b []byte) []byte {
		zipped.Reset()
		z.Reset(&zipped)
		if _, err := z.Write(b); err != nil {
			panic(err) // of a buffer
		}
		if err := z.Close(); err != nil {
			panic(err)
		}
		return slices.Clone(zipped.Bytes())
	}
	line := []byte(`{"id":"a","advice":"search"}` + "\n")
	f.Add(line, true)
	f.Add(zip(line), false)
	f.Add(zip(line)[:20], false)
	f.Add(append(zip(line), "junk"...), false)
	f.Add(append(zip(line), zip(line)...), false)
	w := &work{folder: f.TempDir()}
	file := fuzztest.File(w.auditPart(0))
	f.Fuzz(func(t *testing.T, b []byte, whole bool) {
		if whole {
			file.Write(t, zip(b))
		} else {
			file.Write(t, b)
		}
		var back bytes.Buffer
		err := w.copyAudit(&back, 0)
		switch {
		case whole:
			fuzztest.Same(t, back.String(), string(b), err)
		case err != nil:
			file.Blames(t, err)
		}
	})
}
