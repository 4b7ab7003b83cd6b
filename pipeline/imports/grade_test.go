package imports

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/experts/builder"
	"pipe/experts/chat"
	"pipe/experts/chat/chattest"
	"pipe/internal/storage"
)

// TestImportJudgedAnswers: a chat model grades recorded answers. What was paid for is kept: a run that ends at its budget
// continues, and later runs ask nothing.
func TestImportJudgedAnswers(t *testing.T) {
	server := chattest.NewServer(t)
	server.Answer = func(user string) string {
		if strings.Contains(user, "blue") {
			return "CORRECT"
		}
		return "WRONG."
	}
	dir := t.TempDir()
	rows := "id,model,said,gold,asked,words\n"
	for n := range 30 {
		for m, answer := range []string{"it is blue", "red " + fmt.Sprint(n%3)} {
			rows += fmt.Sprintf("q%d,m%d,%s,azure,the colour of %d?,%d\n", n, m, answer, n, n)
		}
	}
	for name, text := range map[string]string{
		"log.csv": rows,
		"words.csv": "id,words\n" + func() (s string) {
			for n := range 30 {
				s += fmt.Sprintf("q%d,%d\n", n, n)
			}
			return s
		}(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	config := func(extra string) string {
		return writeConfig(t, dir, "import.yaml", "outcomes:\n  file: log.csv\n  columns: {id: id, expert: model, answer: said, reference: gold, question: asked}\n"+
			"  grade: {kind: judge, model: {kind: endpoint, base_url: \""+server.URL+"/v1\", model: m, price: {prompt: 1000, completion: 0}, max_tokens: 5, concurrency: 1}"+extra+"}\n"+
			"features: [{file: words.csv, id: id, columns: [words]}]\n")
	}
	o := Options{Config: storage.File(config("")), Out: storage.File(filepath.Join(dir, "out", "t.parquet"))}
	var err error
	if o.Budget, err = chat.NewBudget(2); err != nil { // an answer costs 0.1
		t.Fatal(err)
	}
	_, err = Run(t.Context(), o, nil)
	var over *chat.BudgetError
	if !errors.As(err, &over) {
		t.Fatal(err)
	}
	before := server.Requests()
	if before == 0 || before >= 60 {
		t.Fatalf("%d requests", before)
	}
	o.Budget = nil
	r, err := Run(t.Context(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	tensor := readTensor(t, o.Out.String())
	for n := range tensor.Len() {
		if tensor.Loss[2*n] != 0 || tensor.Loss[2*n+1] != 1 || !strings.HasPrefix(tensor.Predictions[2*n+1], "red") {
			t.Fatalf("row %d: %v %v", n, tensor.Losses(n), tensor.Predictions[2*n:2*n+2])
		}
	}
	if server.Requests() != 60 || len(r.Answers) != 1 || r.Answers[0].Graded != 60 || r.Answers[0].Cached != int64(before) || r.Graded.Answers != 60 {
		t.Errorf("%d requests, %+v, %+v", server.Requests(), r.Answers, r.Graded)
	}
	if _, err := Run(t.Context(), o, nil); err != nil || server.Requests() != 60 {
		t.Errorf("asked again: %d, %v", server.Requests(), err)
	}
	var bad *builder.PartError
	o.Config = storage.File(config(", scores: {YES: 2}"))
	if _, err := Run(t.Context(), o, nil); !errors.As(err, &bad) || !strings.Contains(err.Error(), "outcomes.grade: ") {
		t.Error(err)
	}
}
