package builder_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"pipe/costs"
	"pipe/experts/builder"
	"pipe/experts/builder/part"
	"pipe/experts/kinds"
	"pipe/internal/storage"
)

// finder answers with the label that it finds in the text or in a passage that it is shown, and else with a guess.
type finder struct {
	labels []string
	Guess  string `json:"guess"`
}

// newFinder is the constructor of the kind of expert "finder", which has one setting.
func newFinder(_ context.Context, s *part.Setup, settings map[string]any) (part.Expert, error) {
	s.Input("code", "1") // raised whenever the answers change: a resumed build would mix old and new ones
	f := &finder{labels: s.Labels}
	return f, s.Settings(settings, f)
}

func (f *finder) Predict(_ context.Context, batch []part.Instance, shown [][]part.AdvicePayload) ([][]part.Prediction, error) {
	answers := make([][]part.Prediction, len(shown))
	for k, level := range shown {
		if level == nil {
			continue // the expert is not asked under this advice
		}
		for n, in := range batch {
			answers[k] = append(answers[k], part.Prediction{Label: f.answer(in.Text, level[n].Passages)})
		}
	}
	return answers, nil
}

func (f *finder) answer(text string, passages []part.Passage) string {
	for _, p := range passages {
		text += " " + p.Text
	}
	for _, label := range f.labels {
		if strings.Contains(text, label) {
			return label
		}
	}
	return f.Guess
}

func (f *finder) Close() error { return nil }

// note is advice that shows the cell of one column as a passage.
type note struct {
	columns *part.Columns
	at      int
}

// newNote is the constructor of the kind of advice "note".
func newNote(_ context.Context, s *part.Setup, settings map[string]any) (part.Advice, error) {
	var cfg struct {
		Column string `json:"column"`
	}
	if err := s.Settings(settings, &cfg); err != nil {
		return nil, err
	}
	s.Input("code", "1")
	columns := s.Source.Columns()
	at, err := columns.Find(cfg.Column)
	if err != nil {
		return nil, err
	}
	return &note{columns, at[0]}, nil
}

func (a *note) Show(_ context.Context, batch []part.Instance) ([]part.AdvicePayload, error) {
	shown := make([]part.AdvicePayload, len(batch))
	for n := range batch {
		if text := a.columns.Cell(&batch[n], a.at); text != "" {
			shown[n].Passages = []part.Passage{{Page: a.columns.Names[a.at], Text: text}}
		}
	}
	return shown, nil
}

// Own kinds of experts and advice, beside those of this module, with a configuration in memory.
func Example_ownKinds() {
	dir, err := os.MkdirTemp("", "costs")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	rows := `id,label,text,note,length
a,cat,the cat sleeps,,14
b,dog,it barks,a dog,8
c,cat,it purrs,,8
d,dog,the dog barks,,13
`
	if err := os.WriteFile(filepath.Join(dir, "rows.csv"), []byte(rows), 0o666); err != nil {
		log.Fatal(err)
	}

	own := &part.Kinds{
		Experts: map[string]part.NewExpert{"finder": newFinder},
		Advice:  map[string]part.NewAdvice{"note": newNote},
	}
	cfg := part.DefaultConfig()
	cfg.Instances = part.Part{Kind: "table", Settings: map[string]any{"file": "rows.csv", "text": "text"}}
	cfg.Split = part.Part{Kind: costs.SplitStratified, Settings: map[string]any{"validation": 0.5}}
	cfg.Advice = []part.AdviceConfig{
		{Name: "none", Kind: "none"},
		{Name: "note", Fee: 0.1, Kind: "note", Settings: map[string]any{"column": "note"}},
	}
	cfg.Experts = []part.ExpertConfig{
		{Name: "catty", Kind: "finder", Settings: map[string]any{"guess": "cat"}},
		{Name: "doggy", Kind: "finder", Settings: map[string]any{"guess": "dog"}},
	}
	cfg.Features = []part.Part{{Kind: "columns", Settings: map[string]any{"columns": []string{"length"}}}}
	report, err := builder.Run(context.Background(), cfg, builder.Options{
		Dir:   storage.File(dir),
		Out:   storage.File(filepath.Join(dir, "costs.parquet")),
		Kinds: kinds.Builtin().With(own),
	})
	if err != nil {
		log.Fatal(err)
	}

	t, err := costs.Read(context.Background(), storage.File(report.File), costs.ReadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for n, id := range t.IDs {
		fmt.Println(id, t.Labels[n])
		for i := range t.Actions.Len() {
			fmt.Println(" ", t.Actions.Name(i), t.Loss[n*t.Actions.Len()+i])
		}
	}
	// Output:
	// a cat
	//   catty/none 0
	//   catty/note 0
	//   doggy/none 0
	//   doggy/note 0
	// b dog
	//   catty/none 1
	//   catty/note 0
	//   doggy/none 0
	//   doggy/note 0
	// c cat
	//   catty/none 0
	//   catty/note 0
	//   doggy/none 1
	//   doggy/note 1
	// d dog
	//   catty/none 0
	//   catty/note 0
	//   doggy/none 0
	//   doggy/note 0
}
