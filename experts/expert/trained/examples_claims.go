package trained

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"pipe/experts/builder/part"
	"pipe/experts/embedding"
	"pipe/experts/retrieval"
	"pipe/internal/digest"
)

// claimSettings say how examples are made from a file of claims.
type claimSettings struct {
	Unsettled   string  `json:"unsettled"`   // label of a claim whose passages do not settle it
	Share       float64 `json:"share"`       // share of unsettled examples among those with passages that come from settled claims
	Draws       int     `json:"draws"`       // examples per row, each under its own random level
	Distractors string  `json:"distractors"` // passages that do not settle a claim: pages, sentences or both
}

// claimExampleSettings are all settings that claim examples depend on.
type claimExampleSettings struct {
	claimSettings
	claimFile
	retrieval.Settings // of the pages that distractors come from
	Seed               uint64
}

func defaultClaimSettings() claimSettings {
	return claimSettings{Unsettled: "NOT ENOUGH INFO", Share: 1.0 / 3, Draws: 2, Distractors: "both"}
}

func (c *claimSettings) check(labels []string) error {
	var problems []error
	if !slices.Contains(labels, c.Unsettled) {
		problems = append(problems, fmt.Errorf("unsettled: unknown label %q; known are %q", c.Unsettled, labels))
	}
	if !(c.Share >= 0 && c.Share < 1) {
		problems = append(problems, fmt.Errorf("share is %v, not in [0, 1)", c.Share))
	}
	if c.Draws < 1 || c.Draws > 1000 {
		problems = append(problems, fmt.Errorf("draws is %d, not 1 to 1000", c.Draws))
	}
	if !c.fromPages() && !c.fromSentences() {
		problems = append(problems, fmt.Errorf("distractors is %q; known are pages, sentences, both", c.Distractors))
	}
	return errors.Join(problems...)
}

func (c *claimSettings) fromPages() bool { return c.Distractors == "pages" || c.Distractors == "both" }

func (c *claimSettings) fromSentences() bool {
	return c.Distractors == "sentences" || c.Distractors == "both"
}

// claimExamples are made from claims that no instance of the build is about. Each
// draw of a row has a randomly drawn level of advice and gives one example. If the
// level shows passages, it also gives the number of unsettled examples that their
// share requires:
//
//   - under a level without passages, the claim alone, with its label;
//   - under a level with n passages, the claim with the sentence that settles it
//     and n-1 distractors, with its label, and
//   - the claim with n distractors, with the label unsettled.
//
// Distractors are passages that BM25 finds for the claim and that contain no
// sentence that settles it. They come from the pages, from the sentences of the
// other claims (for pages that are not about the topics of the claims), or from
// both in turn, a sentence first. A claim without a sentence has only distractors.
type claimExamples struct {
	claims    []claim
	list      []claimExample
	folds     *foldPlan
	pages     retrieval.Retriever // nil: no distractors come from pages
	sentences bool                // distractors come from sentences
	embedder  *embedding.Embedder
	basis     string
}

// claimExample is one example.
type claimExample struct {
	claim    int32
	passages int16 // of its level
	settled  bool  // the passages include the sentence
}

// newClaimExamples reads the claims and draws the examples for an expert that
// takes the given levels of advice.
func newClaimExamples(ctx context.Context, s *part.Setup, cfg *claimExampleSettings, levels []int, e *embedding.Embedder) (*claimExamples, error) {
	if err := cfg.claimSettings.check(s.Labels); err != nil {
		return nil, err
	}
	texts, err := s.Texts(ctx)
	if err != nil {
		return nil, err
	}
	routed := make(map[string]bool)
	for _, text := range texts {
		routed[normal(text)] = true
	}
	x := &claimExamples{sentences: cfg.fromSentences(), embedder: e}
	if cfg.fromPages() {
		if x.pages, err = retrieval.Open(ctx, s, cfg.Settings, 0); err != nil {
			return nil, err
		}
	}
	var dropped int
	if x.claims, dropped, err = cfg.claimFile.read(ctx, s, cfg.Unsettled, routed); err != nil {
		return nil, err
	}
	s.Input("claims left out", fmt.Sprintf("%d that are routed on", dropped))
	x.draw(&cfg.claimSettings, s.Labels, passagesOf(s, levels), cfg.Seed)
	x.describe(s, levels)
	return x, x.check()
}

// passagesOf returns the largest number of passages of each level.
func passagesOf(s *part.Setup, levels []int) []int {
	most := make([]int, len(levels))
	for i, k := range levels {
		if a, ok := s.Levels[k].Advice.(part.PassageCounter); ok {
			most[i] = a.Most()
		}
	}
	return most
}

// draw lists the examples. Those of a row depend only on the seed and the row.
func (x *claimExamples) draw(c *claimSettings, labels []string, passages []int, seed uint64) {
	x.folds = &foldPlan{Labels: labels}
	unsettled := slices.Index(labels, c.Unsettled)
	add := func(class int, e claimExample) {
		x.list, x.folds.Class = append(x.list, e), append(x.folds.Class, class)
	}
	for d := range c.Draws {
		for i, row := range x.claims {
			r := rand.New(rand.NewPCG(seed, 0x636c61696d<<24^uint64(d*len(x.claims)+i)))
			e := claimExample{claim: int32(i), passages: int16(passages[r.IntN(len(passages))]), settled: row.Sentence != ""}
			add(row.Class, e)
			if !e.settled || e.passages == 0 {
				continue
			}
			e.settled = false
			for more := c.Share / (1 - c.Share); r.Float64() < more; more-- {
				add(unsettled, e)
			}
		}
	}
}

// describe records what the examples depend on besides the settings: the files,
// the claims that were left out, and the levels.
func (x *claimExamples) describe(s *part.Setup, levels []int) {
	var text, kept strings.Builder
	for i, most := range passagesOf(s, levels) {
		fmt.Fprintf(&text, "level %d %q shows %d passages\n", levels[i], s.Levels[levels[i]].Name, most)
	}
	for _, name := range s.Inputs.Of(s.Part) {
		if name != part.InputName(part.SettingsRole, s.Part) {
			fmt.Fprintf(&text, "%s: %s\n", strings.TrimSuffix(name, part.InputName("", s.Part)), s.Inputs[name])
		}
	}
	for _, c := range x.claims {
		fmt.Fprintf(&kept, "%q %d %q\n", c.Text, c.Class, c.Sentence)
	}
	fmt.Fprintf(&text, "claims kept: %s\n", digest.Of([]byte(kept.String())))
	x.basis = text.String()
}

func (x *claimExamples) check() error {
	labels := 0
	for _, n := range x.folds.counts() {
		if n > 0 {
			labels++
		}
	}
	if labels < 2 {
		return fmt.Errorf("train: without the claims of the instances, %d claims with %d labels remain; at least two labels are needed", len(x.claims), labels)
	}
	return nil
}

// Folds returns the classes of the examples; one model learns from all.
func (x *claimExamples) Folds() *foldPlan { return x.folds }

// Basis returns what the examples depend on besides the settings.
func (x *claimExamples) Basis() string { return x.basis }
