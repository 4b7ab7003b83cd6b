package expert

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"pipe/costs"
	"pipe/costs/grade"
	"pipe/costs/observe"
	"pipe/experts/builder/part"
	"pipe/experts/language"
)

// causalExpert lets a causal language model choose a label: the most likely
// continuation of the conversation about the claim.
type causalExpert struct {
	*language.Causal
	labels []string
	next   [][]int32 // tokens of each label, as prompts spell it
	spare  int       // number of tokens of the longest label
	mean   bool
}

type causalExpertSettings struct {
	language.CausalSettings
	Normalise string `json:"normalise"` // over the tokens of a label: sum or mean of their log-probabilities
}

func newCausalExpert(ctx context.Context, s *part.Setup, settings map[string]any) (part.Expert, error) {
	cfg := causalExpertSettings{CausalSettings: language.DefaultCausalSettings(), Normalise: "sum"}
	if err := s.Settings(settings, &cfg); err != nil {
		return nil, err
	}
	if cfg.Normalise != "sum" && cfg.Normalise != "mean" {
		return nil, fmt.Errorf("normalise is %q; known are sum, mean", cfg.Normalise)
	}
	if err := grade.CheckLabels(s.Labels); err != nil {
		return nil, err
	}
	model, err := language.OpenCausal(ctx, s, &cfg.CausalSettings)
	if err != nil {
		return nil, err
	}
	e := &causalExpert{Causal: model, labels: s.Labels, mean: cfg.Normalise == "mean"}
	for _, l := range s.Labels {
		ids := model.Encode(grade.Spelled(l))
		if len(ids) == 0 {
			return nil, errors.Join(fmt.Errorf("the tokenizer of %q has no token for label %q", model.File(), l), model.Close())
		}
		e.next = append(e.next, ids)
		e.spare = max(e.spare, len(ids))
	}
	return e, s.InputJSON("prompt", language.ClaimWording(s.Labels))
}

// Labels returns the labels in the order of the probabilities.
func (e *causalExpert) Labels() []string { return e.labels }

// Observes are those of classifiers, and the log-probability of the label after the prompt.
func (e *causalExpert) Observes() []string {
	return []string{observe.Label, observe.Confidence, observe.LogProb}
}

// Predict scores every label after every prompt. Batches are formed within a
// level, so that an answer does not depend on which other levels are requested.
func (e *causalExpert) Predict(ctx context.Context, batch []part.Instance, shown [][]part.AdvicePayload) ([][]part.Prediction, error) {
	out := make([][]part.Prediction, len(shown))
	for k, level := range shown {
		if level == nil {
			continue
		}
		var rows []language.Continuation
		for n := range batch {
			if err := batch[n].NeedText(); err != nil {
				return nil, err
			}
			prompt, err := e.fitting(&batch[n], level[n])
			if err != nil {
				return nil, &costs.DataError{Msg: fmt.Sprintf("instance %q", batch[n].ID), Err: err}
			}
			for _, next := range e.next {
				rows = append(rows, language.Continuation{Prompt: prompt, Next: next})
			}
		}
		scores, err := e.LogProbabilities(ctx, rows)
		if err != nil {
			return nil, err
		}
		out[k] = make([]part.Prediction, len(batch))
		for n := range batch {
			out[k][n] = e.choose(scores[n*len(e.next) : (n+1)*len(e.next)])
		}
	}
	return out, nil
}

// fitting returns the prompt for an instance, with passages truncated at the end
// so that prompt and label stay within the limit.
func (e *causalExpert) fitting(in *part.Instance, shown part.AdvicePayload) ([]int32, error) {
	prompt := func(passages []part.Passage) ([]int32, bool, error) {
		cut := shown
		cut.Passages = passages
		ids, err := e.Prompt(language.ClaimConversation(e.labels, in, cut))
		return ids, err == nil && len(ids)+e.spare <= e.Limit(), err
	}
	ids, fits, err := prompt(shown.Passages)
	if fits || err != nil {
		return ids, err
	}
	cut, ok := longestFitting(shown.Passages, func(passages []part.Passage) bool {
		_, fits, _ := prompt(passages)
		return fits
	})
	if !ok {
		return nil, fmt.Errorf("claim and instruction alone exceed max_length, %d tokens", e.Limit())
	}
	ids, _, err = prompt(cut)
	return ids, err
}

// choose turns the labels' log-probabilities into a prediction.
func (e *causalExpert) choose(scores []float64) part.Prediction {
	total, top, sums := 0.0, math.Inf(-1), slices.Clone(scores)
	for i := range scores {
		if e.mean {
			scores[i] /= float64(len(e.next[i]))
		}
		top = max(top, scores[i])
	}
	p := part.Prediction{Probabilities: make([]float32, len(scores))}
	for _, v := range scores {
		total += math.Exp(v - top)
	}
	for i, v := range scores {
		p.Probabilities[i] = float32(math.Exp(v-top) / total)
		if v == top && p.Label == "" {
			seen := observe.Unknown()
			seen.LogProb = sums[i]
			p.Label, p.Seen = e.labels[i], &seen
		}
	}
	return p
}

// longestFitting returns the longest prefix of passages that fits, given that
// all of them do not: whole passages, then the beginning of the next. If a
// prefix does not fit, longer ones must not fit either. It returns false if
// even the empty prefix does not fit.
func longestFitting(passages []part.Passage, fits func([]part.Passage) bool) ([]part.Passage, bool) {
	total := 0
	for _, p := range passages {
		total += len(strings.Fields(p.Text))
	}
	tooMany := sort.Search(total, func(words int) bool { return !fits(firstWords(passages, words)) })
	if tooMany == 0 {
		return nil, false
	}
	return firstWords(passages, tooMany-1), true
}

// firstWords truncates passages after a number of words; it drops a passage
// that becomes empty.
func firstWords(passages []part.Passage, words int) []part.Passage {
	var kept []part.Passage
	for _, p := range passages {
		if words == 0 {
			break
		}
		list := strings.Fields(p.Text)
		if len(list) > words {
			p.Text = strings.Join(list[:words], " ")
		}
		words -= min(words, len(list))
		kept = append(kept, p)
	}
	return kept
}
