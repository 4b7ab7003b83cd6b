package build

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/costs/builder/part"
	"pipe/internal/fuzztest"
)

// FuzzTable: a table of instances is an error about the file, or has instances with distinct ids and everything that the
// configuration names.
func FuzzTable(f *testing.F) {
	f.Add([]byte("id,label,split,group,text\na,cat,train,u,x y\nb,dog,val,u,z\n"), false, byte(15))
	f.Add([]byte("id,label\na,cat\na,dog\n"), false, byte(1))
	f.Add([]byte("{\"id\":\"a\",\"label\":\"cat\",\"text\":\"x\"}\n{\"id\":7,\"label\":\"dog\",\"text\":\"y\"}\n"), true, byte(9))
	files := fuzztest.TableFiles(f)
	f.Fuzz(func(t *testing.T, b []byte, lines bool, columns byte) {
		file := files(lines)
		settings := map[string]any{"file": file.Write(t, b), "label": ""}
		for i, name := range []string{"label", "split", "group", "text"} {
			if columns>>i&1 == 1 {
				settings[name] = name
			}
		}
		src, err := newTable(t.Context(), fuzzSetup(), settings)
		if err != nil {
			file.Blames(t, err)
			return
		}
		first, rows := map[string]bool{}, make([]int, len(src.Entries()))
		for i, e := range src.Entries() {
			if rows[i] = i; e.ID == "" || first[e.ID] || (settings["label"] != "") != (e.Label != "") || (settings["group"] != nil) != (e.Group != "") {
				t.Fatalf("row %d is %+v", i, e)
			}
			if _, err := costs.ParseSplit(e.Split); settings["split"] != nil && err != nil {
				t.Fatal(err)
			}
			first[e.ID] = true
		}
		at, err := src.Columns().Find(src.Columns().Names...)
		if err != nil {
			t.Fatal(err)
		}
		list, err := src.Load(t.Context(), rows)
		if err != nil {
			file.Blames(t, err)
			return
		}
		for _, in := range list {
			if (settings["text"] != nil) != (in.Text != "") {
				t.Fatalf("%+v", in)
			}
			for _, c := range at {
				if _, err := src.Columns().Number(&in, c); err != nil {
					file.Blames(t, err)
				}
			}
		}
	})
}

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

// FuzzFever: a file in FEVER's format is an error about the file, or claims with distinct ids, a label, and pages that are
// sorted; written again they are the same.
func FuzzFever(f *testing.F) {
	for _, text := range []string{
		`{"id": 75397, "verifiable": "VERIFIABLE", "label": "SUPPORTS", "claim": "A worked with B.", "evidence": [[[92206, 104971, "A", 7], [92206, 104971, "B", 0]]]}`,
		`{"id": "x", "label": "NOT ENOUGH INFO", "claim": "C", "evidence": [[[1, null, null, null]]], "user": "u"}` + "\n\n" + `{"id": 1, "label": "REFUTES", "claim": "D", "evidence": []}`,
		`{"id": 1.5, "label": "REFUTES", "claim": "D"}`, `{"id": 1, "label": "x", "claim": "D"}`, "[1]", "{", `{"id": 1, "label": "REFUTES", "claim": "D", "evidence": [[[1]]]}`,
	} {
		f.Add([]byte(text), "")
		f.Add([]byte(text), "user")
	}
	file := fuzztest.NewFile(f, "claims.jsonl")
	f.Fuzz(func(t *testing.T, b []byte, group string) {
		read := func(b []byte) (*fever, error) {
			x := &fever{file: file.Write(t, b), group: group}
			return x, x.read(t.Context())
		}
		x, err := read(b)
		if err != nil {
			file.Blames(t, err)
			return
		}
		var rows []map[string]any
		first := map[string]bool{}
		for i, e := range x.entries {
			c := &x.claims[i]
			c.line = 0
			if e.ID == "" || first[e.ID] || feverLabels[e.Label] != e.Label || strings.TrimSpace(c.text) == "" || (group == "") != (e.Group == "") || !slices.IsSorted(c.gold) {
				t.Fatalf("%+v: %+v", e, c)
			}
			first[e.ID] = true
			evidence := [][][]any{}
			for _, set := range c.sets {
				var list [][]any
				for _, page := range set {
					list = append(list, []any{1, 2, page, 0})
				}
				evidence = append(evidence, list)
			}
			row := map[string]any{"id": e.ID, "label": e.Label, "claim": c.text, "evidence": evidence}
			switch group {
			case "":
			case "id", "label", "claim", "evidence":
				return // the key of something else
			default:
				row[group] = e.Group
			}
			rows = append(rows, row)
		}
		if len(rows) == 0 {
			return
		}
		file.WriteLines(t, rows)
		again := &fever{file: string(file), group: group}
		err = again.read(t.Context())
		for i := range again.claims {
			again.claims[i].line = 0
		}
		fuzztest.Same(t, again.claims, x.claims, err)
		fuzztest.Same(t, again.entries, x.entries, nil)
	})
}

// FuzzClassFile: a file of classes is an error about the file, or distinct classes; written again by index they are the same.
// What the file may look like is FuzzParseClasses' matter.
func FuzzClassFile(f *testing.F) {
	for _, seed := range []string{"tench\ngoldfish\n", `["a", "b"]`, `{"0": ["n1", "cat"], "1": ["n2", "cat"]}`, "a\na\n", "\xff", "{", `{"0": ["a"]}`} {
		f.Add([]byte(seed))
	}
	file := fuzztest.NewFile(f, "classes")
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := readClasses(file.Write(t, b))
		if err != nil {
			file.Blames(t, err)
			return
		}
		index := map[string]any{}
		for i, id := range list.IDs {
			index[strconv.Itoa(i)] = []string{id, list.Names[i]}
			if slices.Contains(list.IDs[:i], id) {
				t.Fatalf("%q is there twice", id)
			}
		}
		again, err := readClasses(file.WriteLines(t, []map[string]any{index}))
		if err != nil {
			t.Fatal(err)
		}
		fuzztest.Same(t, fmt.Sprint(again.IDs, again.Names), fmt.Sprint(list.IDs, list.Names), nil)
	})
}
