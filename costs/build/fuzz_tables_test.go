package build

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"pipe/costs/builder/part"
	"pipe/internal/fuzztest"
)

// FuzzPrecomputed: a file of answers is an error about the file, or answers under known advice that are judged by a loss, or
// have a known label; written again they are the same.
func FuzzPrecomputed(f *testing.F) {
	f.Add([]byte("id,expert,advice,prediction,loss,fee\na,me,none,cat,0,0.5\na,me,search,dog,1,0\na,you,none,cat,0,0\n"), false, byte(31))
	f.Add([]byte("id,prediction\na,cat\nb,Hund\n"), false, byte(4))
	f.Add([]byte("{\"id\":\"a\",\"loss\":0.25}\n{\"id\":2,\"loss\":1e-3}\n"), true, byte(8))
	f.Add([]byte("id,loss\na,-1\n"), false, byte(8))
	files := fuzztest.TableFiles(f)
	f.Fuzz(func(t *testing.T, b []byte, lines bool, columns byte) {
		cfg := precomputedSettings{ID: "id", As: "me", LabelNames: map[string]string{"Hund": "dog"}}
		for i, c := range []*string{&cfg.Expert, &cfg.Advice, &cfg.Prediction, &cfg.Loss, &cfg.Fee} {
			if columns>>i&1 == 1 {
				*c = []string{"expert", "advice", "prediction", "loss", "fee"}[i]
			}
		}
		if cfg.Prediction == "" && cfg.Loss == "" {
			return
		}
		labels := []string{"cat", "dog"}
		read := func(file string) (*precomputed, error) {
			e := &precomputed{advice: []string{"none", "search"}}
			return e, e.read(t.Context(), file, &cfg, labels, nil)
		}
		file := files(lines)
		e, err := read(file.Write(t, b))
		if err != nil {
			file.Blames(t, err)
			return
		}
		var rows []map[string]any
		for key, p := range e.answers {
			known := cfg.Prediction == "" || cfg.Loss != "" || slices.Contains(labels, p.Label)
			if !e.Takes(key.advice) || !known || !(p.Loss >= 0) || !(p.Fee >= 0) || p.Loss+p.Fee-p.Loss-p.Fee != 0 {
				t.Fatalf("%+v: %+v", key, p)
			}
			number := func(v float32) string { return strconv.FormatFloat(float64(v), 'g', -1, 32) }
			rows = append(rows, map[string]any{
				"id": key.id, "expert": "me", "advice": key.advice, "prediction": p.Label, "loss": number(p.Loss), "fee": number(p.Fee),
			})
		}
		again, err := read(files(true).WriteLines(t, rows))
		fuzztest.Same(t, again.answers, e.answers, err)
	})
}

// FuzzClaimFile: a file of claims is an error about the file, or claims with a text and a class of which the unsettled ones,
// and no other, lack a sentence; none is among those that are routed. Written again they are the same.
func FuzzClaimFile(f *testing.F) {
	f.Add([]byte("claim,label,sentence\nA is b.,SUPPORTS,\"A is b , -LRB- c -RRB- .\"\nQ,NOT ENOUGH INFO,\nRouted  Claim,REFUTES,no\n"), false)
	f.Add([]byte("{\"claim\":\"x\",\"label\":\"NOT_ENOUGH_INFO\",\"sentence\":null}\n{\"claim\":\"y\",\"label\":\"REFUTES\",\"sentence\":\"z\"}\n"), true)
	f.Add([]byte("claim,label,sentence\nx,SUPPORTS,\n"), false)
	files := fuzztest.TableFiles(f)
	routed := map[string]bool{normal("routed claim"): true}
	f.Fuzz(func(t *testing.T, b []byte, lines bool) {
		const unsettled = "NOT ENOUGH INFO"
		s := fuzzSetup("SUPPORTS", "REFUTES", unsettled)
		read := func(file string) ([]claim, error) {
			c := defaultClaimFile()
			c.File = part.Path(file)
			list, _, err := c.read(t.Context(), s, unsettled, routed)
			return list, err
		}
		file := files(lines)
		list, err := read(file.Write(t, b))
		if err != nil {
			file.Blames(t, err)
			return
		}
		if len(list) == 0 {
			return
		}
		var rows []map[string]any
		for _, c := range list {
			if strings.TrimSpace(c.Text) == "" || routed[normal(c.Text)] || (c.Sentence == "") != (s.Labels[c.Class] == unsettled) {
				t.Fatalf("%+v", c)
			}
			rows = append(rows, map[string]any{"claim": c.Text, "label": s.Labels[c.Class], "sentence": c.Sentence})
		}
		again, err := read(files(true).WriteLines(t, rows))
		fuzztest.Same(t, again, list, err)
	})
}
