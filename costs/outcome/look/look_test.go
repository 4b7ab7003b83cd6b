package look_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/costs/outcome"
	"pipe/costs/outcome/look"
	"pipe/internal/config"
	"pipe/internal/dataerror"
	"pipe/internal/hint"
	"pipe/internal/realdata"
	"pipe/internal/storage"
)

// propose looks at a table and imports it with what was proposed.
func propose(t *testing.T, file, features string, columns ...string) (*look.Proposal, outcome.Report, string, error) {
	t.Helper()
	read := func(path string) *look.Table {
		table, err := look.Read(t.Context(), storage.File(path))
		if err != nil {
			t.Fatal(err)
		}
		return table
	}
	var known *look.Table
	if features != "" {
		known = read(features)
	}
	p, err := look.Propose(read(file), known, columns)
	if err != nil {
		return nil, outcome.Report{}, "", err
	}
	var report outcome.Report
	for _, p.Drop = range []bool{false, true} {
		text := p.Config(storage.Location.Path)
		if report, err = imported(t.Context(), text); err == nil {
			return p, report, text, nil
		}
	}
	t.Errorf("%v\n%s", err, p.Config(storage.Location.Path))
	return p, report, "", nil
}

func imported(ctx context.Context, text string) (outcome.Report, error) {
	c := outcome.DefaultConfig()
	if problems := config.Decode([]byte(text), storage.File("/"), os.LookupEnv, &c); len(problems) > 0 {
		return outcome.Report{}, errors.New(strings.Join(problems, "\n"))
	}
	_, report, err := outcome.Import(ctx, c)
	return report, err
}

func save(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// world is an invented log, which can be written in many shapes.
type world struct {
	experts, advice []string // advice[0] is none
	rows            int
	right           [][]int // per request and pair
	length, code    []int
	topic           []string
}

func newWorld(rng *rand.Rand) *world {
	names := []string{"small", "large", "gpt-4o", "gpt-4o-mini", "claude 3", "llama_3", "human", "a:b", "${HOME}"}
	rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	w := &world{experts: names[:2+rng.IntN(3)], advice: []string{"none", "docs", "web"}[:1+rng.IntN(3)], rows: 20 + rng.IntN(30)}
	for range w.rows {
		right := make([]int, len(w.experts)*len(w.advice))
		for i := range right {
			right[i] = rng.IntN(2)
		}
		w.right = append(w.right, right)
		w.length = append(w.length, 10+rng.IntN(4000))
		w.code = append(w.code, rng.IntN(2))
		w.topic = append(w.topic, []string{"law", "maths", "yes"}[rng.IntN(3)])
	}
	for pair := range w.right[0] {
		w.right[0][pair], w.right[1][pair] = 0, 1 // each value occurs
	}
	return w
}

// long writes a row per request and pair.
func (w *world) long(rng *rand.Rand) string {
	var b strings.Builder
	id := []string{"id", "request_id", "question", "queryId"}[rng.IntN(4)]
	expert := []string{"model", "expert", "llm", "Model Name"}[rng.IntN(4)]
	right := []string{"correct", "is_correct", "score", "loss", "passed"}[rng.IntN(5)]
	fmt.Fprintf(&b, "%s,%s,%s,length,code,topic,latency", id, expert, right)
	if len(w.advice) > 1 {
		b.WriteString(",context")
	}
	b.WriteByte('\n')
	for n := range w.rows {
		for pair, value := range w.right[n] {
			fmt.Fprintf(&b, "q%d,%q,%d,%d,%d,%s,%d.5", n, w.experts[pair/len(w.advice)], value, w.length[n], w.code[n], w.topic[n], rng.IntN(90))
			if len(w.advice) > 1 {
				b.WriteString("," + w.advice[pair%len(w.advice)])
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// wide writes a row per request, with a column per pair.
func (w *world) wide(rng *rand.Rand) string {
	var b strings.Builder
	b.WriteString("request,length,code,topic")
	mark := []string{"%s_correct", "correct_%s", "%s|score", "%s.loss", "%s_accuracy"}[rng.IntN(5)]
	for pair := range w.right[0] {
		name := w.experts[pair/len(w.advice)]
		if a := pair % len(w.advice); a > 0 {
			name += "_" + w.advice[a]
		}
		fmt.Fprintf(&b, ",%q", fmt.Sprintf(mark, name))
	}
	b.WriteByte('\n')
	for n := range w.rows {
		fmt.Fprintf(&b, "q%d,%d,%d,%s", n, w.length[n], w.code[n], w.topic[n])
		for _, value := range w.right[n] {
			fmt.Fprintf(&b, ",%d", value)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// TestEveryShape: of invented logs in many shapes and spellings the experts and features are found, what differs between answers is no
// feature, and the import keeps all requests.
func TestEveryShape(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		w := newWorld(rng)
		text := w.long(rng)
		if seed%2 == 1 {
			text = w.wide(rng)
		}
		p, report, config, err := propose(t, save(t, "log.csv", text), "")
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text[:200])
		}
		if report.Kept != w.rows || p.Drop {
			t.Errorf("seed %d keeps %d of %d requests\n%s", seed, report.Kept, w.rows, config)
		}
		if got := p.Request.Features(); !slices.Equal(got, []string{"length", "code", "topic"}) {
			t.Errorf("seed %d: features %q\n%s", seed, got, config)
		}
		experts, advice := p.Experts()
		if len(experts)*(1+len(advice)) != len(w.right[0]) {
			t.Errorf("seed %d: experts %q, advice %q of %q, %q\n%s", seed, experts, advice, w.experts, w.advice, config)
		}
		if t.Failed() {
			return
		}
	}
}

// TestTutorial: the log of the tutorial needs no help.
func TestTutorial(t *testing.T) {
	p, report, _, err := propose(t, "../../../docs/tutorial/outcomes.csv", "")
	if err != nil {
		t.Fatal(err)
	}
	experts, advice := p.Experts()
	if !slices.Equal(experts, []string{"small", "large"}) || !slices.Equal(advice, []string{"docs"}) || report.Kept != 2000 || p.ID != "request" {
		t.Errorf("%q, %q, %d requests, id %s", experts, advice, report.Kept, p.ID)
	}
}

// TestForeignTables: tables of others, with their tables of features.
func TestForeignTables(t *testing.T) {
	root := realdata.Folder(t, "outcomes")
	for _, c := range []struct {
		outcomes, features    string
		experts, advice, kept int
	}{
		{"frugalml-FERPLUS/outcomes.csv.gz", "frugalml-FERPLUS/features.csv.gz", 4, 0, 6358},
		{"frugalml-YELP/outcomes.csv.gz", "frugalml-YELP/features.csv.gz", 4, 0, 20000},
		{"frugalml-DIGIT/outcomes.csv.gz", "frugalml-DIGIT/features.csv.gz", 4, 0, 2000},
		{"cifar10-four-networks/outcomes.csv.gz", "cifar10-four-networks/features.csv.gz", 4, 2, 2000},
		{"mba-retrieval/outcomes.csv.gz", "mba-retrieval/questions.csv.gz", 1, 2, 2642},
		{"mtrag-retrieval/outcomes.csv.gz", "mtrag-retrieval/turns.csv.gz", 4, 2, 576},
		{"routellm-gsm8k/outcomes.csv.gz", "routellm-gsm8k/questions.csv.gz", 2, 0, 1319},
		{"mmlu_pro_long.csv.gz", "", 29, 0, 10326},
	} {
		features := c.features
		if features != "" {
			features = filepath.Join(root, features)
		}
		p, report, _, err := propose(t, filepath.Join(root, c.outcomes), features)
		if err != nil {
			t.Errorf("%s: %v", c.outcomes, err)
			continue
		}
		if experts, advice := p.Experts(); len(experts) != c.experts || len(advice) != c.advice || report.Kept != c.kept {
			t.Errorf("%s: experts %q, advice %q, %d requests", c.outcomes, experts, advice, report.Kept)
		}
	}
}

// TestUnusable: a table that cannot be used is bad data, and the error says why and what to record.
func TestUnusable(t *testing.T) {
	for text, says := range map[string][2]string{
		"id,model,correct,length\na,x,1,3\nb,y,0,4\nc,x,1,5\n":          {"answered by one expert only", "record the probability"},
		"id,model,length\na,x,3\na,y,3\nb,x,4\nb,y,4\n":                 {"no column says how good", "correct (1 or 0)"},
		"id,model,answer,length\na,x,u,3\na,y,u,3\nb,x,v,4\nb,y,w,4\n":  {"nothing says whether they are right", "reference"},
		"id,model,correct\na,x,1\na,y,0\nb,x,1\nb,y,1\n":                {"nothing in it is known", "--features"},
		"id,model,correct,length\na,x,1,3\na,x,0,3\nb,x,1,4\nb,y,1,4\n": {"several rows have the same id and model", "keep one row"},
		"id,length\na,1\nb,2\n":                                         {"no columns look like", "one row per request and expert"},
		"id,length,code,setup\na,7,1,0\nb,2,0,1\n":                      {"no column is named like an expert", "--outcomes COLUMN,COLUMN"},
		"length,small,large\n7,1,0\n7,0,1\n":                            {"no column has a different value", "add a column id"},
		"id,model,correct,length\n":                                     {"has no rows", "a row for each answer"},
		"id,small_correct,large_correct\na,1,0\nb,0,1\n":                {"nothing in it is known", "add columns"},
	} {
		_, _, _, err := propose(t, save(t, "log.csv", text), "")
		bad, data := (*hint.Error)(nil), (*dataerror.Error)(nil)
		if !errors.As(err, &bad) || !errors.As(err, &data) || !strings.Contains(err.Error(), says[0]) || !strings.Contains(bad.Hint(), says[1]) {
			t.Errorf("%q: %v, hint %v", text, err, bad)
		}
	}
}

// TestForms: the less usual forms of a table.
func TestForms(t *testing.T) {
	rows := func(head, format string) string { // 24 requests, each value in turn
		var b strings.Builder
		b.WriteString(head + "\n")
		for n := range 24 {
			fmt.Fprintf(&b, format+"\n", n, n%2, n*7%5)
		}
		return b.String()
	}
	for _, c := range []struct {
		name, file, text string
		columns, has     []string
	}{
		{"decisions", "log.csv", rows("id,model,propensity,correct,length", "q%[1]d,m%[2]d,0.5,%[2]d,%[3]d"), nil, []string{"propensity: propensity", "missing: keep", "columns: [length]"}},
		{"answers", "log.csv", rows("id,length,gpt_answer,llama_answer,reference", "q%[1]d,%[3]d,A%[2]d,B%[3]d,A1"), nil, []string{"value: answer", "grade: {kind: exact}", "reference: reference"}},
		{"money", "log.csv", rows("id,length,gpt.score,gpt.cost,llama.score,llama.cost", "q%[1]d,%[3]d,0.%[3]d,0.01,0.5,0.0%[3]d"), nil, []string{"fee: gpt.cost", "fee_scale: 1", "value: score"}},
		{"JSON lines", "log.jsonl", rows("", `{"id": "q%[1]d", "n": %[3]d, "small": true, "large": %[2]d, "embedding": [1, %[3]d]}`)[1:], nil, []string{"list: embedding", `columns: ["n"]`, "expert: small, column: small"}},
		{"named", "log.csv", rows("id,length,alice,bob", "q%[1]d,%[3]d,%[2]d,1"), []string{"alice", "bob"}, []string{"expert: alice, column: alice", "columns: [length]"}},
		{"times and groups", "log.csv", rows("id,timestamp,user,label,length,small,large", "q%[1]d,2026-01-1%[2]d,u%[1]d,c%[2]d,%[3]d,%[2]d,1"), nil, []string{"time: timestamp", "group: user", "label: label", "kind: time"}},
		{"ratings", "log.csv", rows("id,model,rating,n", "q%[1]d,a,%[3]d,1%[1]d") + strings.TrimPrefix(rows("", "q%[1]d,b,%[2]d,1%[1]d"), "\n"), nil, []string{"score: rating", "score_range: [0, 5]"}},
		{"gaps", "log.csv", rows("id,length,small,large", "q%[1]d,%[3]d,%[2]d,1") + "q24,3,,1\n", nil, []string{"missing: drop", "columns: [length]"}},
	} {
		_, report, text, err := propose(t, save(t, c.file, c.text), "", c.columns...)
		if err != nil || report.Kept != 24 {
			t.Errorf("%s: %v, keeps %d\n%s", c.name, err, report.Kept, text)
			continue
		}
		for _, want := range c.has {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %s in\n%s", c.name, want, text)
			}
		}
	}
}
