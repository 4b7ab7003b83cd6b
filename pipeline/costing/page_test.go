package costing

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/experts/chat"
	"pipe/experts/chat/chattest"
	"pipe/experts/retrieval/bm25"
	"pipe/internal/storage"
)

// TestExampleOfOpenQuestions runs the build of docs/endpoints.md as the page has it: first the estimate, then the build.
func TestExampleOfOpenQuestions(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "endpoints.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, m := range regexp.MustCompile(`(?s)\$ cat > (\S+) <<'END'\n(.*?\n)END\n`).FindAllSubmatch(page, -1) {
		if err := os.WriteFile(filepath.Join(dir, string(m[1])), m[2], 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := bm25.Build(t.Context(), bm25.BuildOptions{Pages: storage.File(filepath.Join(dir, "pages.jsonl")), Out: storage.File(filepath.Join(dir, "pages.bm25")), Settings: bm25.DefaultSettings()}); err != nil {
		t.Fatal(err)
	}
	server := chattest.NewServer(t)
	number := regexp.MustCompile(`is (?:about )?(\d+) |finished in (\d+)`)
	server.Answer = func(user string) string {
		for line := range strings.Lines(user) {
			name, _, _ := strings.Cut(line, ":")
			if m := number.FindStringSubmatch(line); m != nil && strings.Contains(user[strings.Index(user, "Question:"):], name) {
				return fmt.Sprintf("It is %s%s.", m[1], m[2])
			}
		}
		return "I do not know."
	}
	t.Setenv("BASE_URL", server.Base())
	budget, err := chat.NewBudget(1)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Config: storage.File(filepath.Join(dir, "questions.yaml")), Out: storage.File(filepath.Join(dir, "questions.parquet")), Budget: budget}
	estimate, err := DryRun(t.Context(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := estimate.WriteText(&text); err != nil || estimate.Enough != "yes" || !strings.Contains(text.String(), `expert "voters", advice "pages"`) {
		t.Errorf("%v\n%s", err, text.String())
	}
	r, err := Run(t.Context(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	text.Reset()
	if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(), "open answers: 8, 5 (62.5%) without what the grader looks for") {
		t.Errorf("%v\n%s", err, text.String())
	}
	tensor, err := costs.Read(t.Context(), o.Out, costs.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range tensor.Len() {
		want := []float32{1, 0, 1, 0} // without and with pages
		if tensor.IDs[i] == "q3" {
			want = []float32{1, 1, 1, 1} // no page is about it
		}
		if fmt.Sprint(tensor.Losses(i)) != fmt.Sprint(want) {
			t.Errorf("%s: losses %v, answers %q", tensor.IDs[i], tensor.Losses(i), tensor.Predictions[4*i:4*i+4])
		}
	}
}
