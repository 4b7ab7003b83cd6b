package builder

import (
	"context"
	"math"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/featurize/tabular"
)

// ownExpert answers what a test says: for every instance under every level, unless spoil changes that.
type ownExpert struct {
	answer  part.Prediction
	spoil   func(answers [][]part.Prediction) [][]part.Prediction
	metered bool
}

func (e *ownExpert) Metered() bool { return e.metered }
func (e *ownExpert) Close() error  { return nil }

func (e *ownExpert) Predict(_ context.Context, batch []part.Instance, shown [][]part.AdvicePayload) ([][]part.Prediction, error) {
	out := make([][]part.Prediction, len(shown))
	for k := range shown {
		for range shown[k] {
			out[k] = append(out[k], e.answer)
		}
	}
	if e.spoil != nil {
		out = e.spoil(out)
	}
	return out, nil
}

// ownClassifier knows a class that no instance has.
type ownClassifier struct{ ownExpert }

func (e *ownClassifier) Labels() []string { return []string{"cat", "emu"} }

// ownAdvice shows what a test says.
type ownAdvice func(batch []part.Instance) []part.AdvicePayload

func (a ownAdvice) Show(_ context.Context, batch []part.Instance) ([]part.AdvicePayload, error) {
	return a(batch), nil
}

// ownLoss is the same for every answer.
type ownLoss float32

func (l ownLoss) Loss(*part.Instance, part.Prediction) (float32, error) { return float32(l), nil }

// ownFeature has a number of zeros.
type ownFeature int

func (f ownFeature) Name() string                                         { return "own" }
func (f ownFeature) Dim() int                                             { return int(f) }
func (f ownFeature) Encode(context.Context, []float32, *part.Batch) error { return nil }

// ownSource is a source whose instances a test spoils.
type ownSource struct {
	part.Source
	spoil func([]part.Instance) []part.Instance
	fits  int
}

func (s *ownSource) Load(ctx context.Context, rows []int) ([]part.Instance, error) {
	list, err := s.Source.Load(ctx, rows)
	return s.spoil(list), err
}

func (s *ownSource) Fit([]int) int { return s.fits }

// withoutEncoder promises an encoder.
type withoutEncoder struct{ part.Source }

func (*withoutEncoder) Encoder() *tabular.Encoder { return nil }

// constructor returns a constructor of an existing part.
func constructor[T any](v T) func(context.Context, *part.Setup, map[string]any) (T, error) {
	return func(context.Context, *part.Setup, map[string]any) (T, error) { return v, nil }
}

// ownSourceOf returns the constructor of a spoilt table.
func (w *world) ownSourceOf(s *ownSource) part.NewSource {
	table := w.allKinds().Sources["table"]
	return func(ctx context.Context, setup *part.Setup, settings map[string]any) (_ part.Source, err error) {
		s.Source, err = table(ctx, setup, settings)
		return s, err
	}
}

// use makes the parts for which there is an own kind of that kind, which is called own.
func (w *world) use(k *part.Kinds) {
	w.kinds, w.cfg.Workers = k, 1 // the first error is that of the first instance
	if k.Sources != nil {
		w.cfg.Instances.Kind = "own"
	}
	if k.Splits != nil {
		w.cfg.Split.Kind = "own"
	}
	if k.Losses != nil {
		w.cfg.TaskLoss = part.Part{Kind: "own"}
	}
	if k.Advice != nil {
		w.cfg.Advice[1] = part.AdviceConfig{Name: "search", Kind: "own"}
	}
	if k.Experts != nil {
		w.cfg.Experts = []part.ExpertConfig{{Name: "e", Kind: "own"}}
	}
	if k.Features != nil {
		w.cfg.Features = []part.Part{{Kind: "own"}}
	}
}

func expertKind(e part.Expert) *part.Kinds {
	return &part.Kinds{Experts: map[string]part.NewExpert{"own": constructor(e)}}
}

func adviceKind(show ownAdvice) *part.Kinds {
	return &part.Kinds{Advice: map[string]part.NewAdvice{"own": constructor[part.Advice](show)}}
}

func splitKind(splits []costs.Split) *part.Kinds {
	return &part.Kinds{Splits: map[string]part.NewSplit{"own": constructor(splits)}}
}

func lossKind(l part.TaskLoss) *part.Kinds {
	return &part.Kinds{Losses: map[string]part.NewLoss{"own": constructor(l)}}
}

func featureKind(f part.Feature) *part.Kinds {
	return &part.Kinds{Features: map[string]part.NewFeature{"own": constructor(f)}}
}

const (
	ofE       = `expert "e": instance "r0" under advice "none": `
	ofRows    = 12
	nilReturn = `the constructor of kind "own" returned nil and no error`
)

// TestFaultyOwnParts: what an own part must not do is an error that names it, and nothing is written.
func TestFaultyOwnParts(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	answers := func(p part.Prediction) *part.Kinds { return expertKind(&ownExpert{answer: p, metered: true}) }
	probabilities := func(p ...float32) *part.Kinds {
		return expertKind(&ownClassifier{ownExpert{answer: part.Prediction{Label: "cat", Probabilities: p}}})
	}
	spoilt := func(change func([][]part.Prediction) [][]part.Prediction) *part.Kinds {
		return expertKind(&ownExpert{answer: part.Prediction{Label: "cat"}, spoil: change})
	}
	for name, c := range map[string]struct {
		kinds *part.Kinds
		says  string
	}{
		"nil constructor":      {&part.Kinds{Experts: map[string]part.NewExpert{"own": nil}}, `expert "e": kind "own" has no constructor: it is nil`},
		"nil source":           {&part.Kinds{Sources: map[string]part.NewSource{"own": constructor[part.Source](nil)}}, "instances: " + nilReturn},
		"nil task loss":        {lossKind(nil), "task_loss: " + nilReturn},
		"nil advice":           {adviceKind(nil), `advice "search": ` + nilReturn},
		"nil expert":           {expertKind(nil), `expert "e": ` + nilReturn},
		"nil expert's pointer": {expertKind((*ownExpert)(nil)), `expert "e": ` + nilReturn},
		"nil feature":          {featureKind(nil), "features[0] own: " + nilReturn},
		"no splits":            {splitKind(nil), "split: it gave 0 splits for 12 instances"},
		"few splits":           {splitKind(make([]costs.Split, ofRows-1)), "split: it gave 11 splits for 12 instances"},
		"many splits":          {splitKind(make([]costs.Split, ofRows+1)), "split: it gave 13 splits for 12 instances"},
		"unknown split":        {splitKind(append(make([]costs.Split, ofRows-1), 9)), `split: instance "r11": unknown split number 9`},
		"no values":            {featureKind(ownFeature(0)), "features[0] own: it has 0 values per instance"},
		"negative values":      {featureKind(ownFeature(-1)), "features[0] own: it has -1 values per instance"},
		"loss NaN":             {lossKind(ownLoss(nan)), `action both/none: instance "r0": task_loss gave NaN`},
		"loss infinite":        {lossKind(ownLoss(inf)), `action both/none: instance "r0": task_loss gave +Inf`},
		"loss negative":        {lossKind(ownLoss(-1)), `action both/none: instance "r0": task_loss gave -1 for the answer "cat"`},
		"shows few":            {adviceKind(func(b []part.Instance) []part.AdvicePayload { return make([]part.AdvicePayload, len(b)-1) }), `advice "search": it showed 2 of 3 instances`},
		"shows many":           {adviceKind(func(b []part.Instance) []part.AdvicePayload { return make([]part.AdvicePayload, len(b)+1) }), `advice "search": it showed 4 of 3 instances`},
		"shows nothing":        {adviceKind(func([]part.Instance) []part.AdvicePayload { return nil }), `advice "search": it showed 0 of 3 instances`},
		"shows other columns": {
			adviceKind(func(b []part.Instance) []part.AdvicePayload {
				return part.ShowAll(b, part.AdvicePayload{Revealed: []bool{true}})
			}),
			`advice "search": instance "r0": Revealed has 1 values, not 5`,
		},
		"no levels":   {spoilt(func([][]part.Prediction) [][]part.Prediction { return nil }), `expert "e" gave answers under 0 levels of advice, not 2`},
		"few levels":  {spoilt(func(a [][]part.Prediction) [][]part.Prediction { return a[:1] }), `expert "e" gave answers under 1 levels of advice, not 2`},
		"many levels": {spoilt(func(a [][]part.Prediction) [][]part.Prediction { return append(a, nil) }), `expert "e" gave answers under 3 levels of advice, not 2`},
		"nil level": {
			spoilt(func(a [][]part.Prediction) [][]part.Prediction { return [][]part.Prediction{a[0], nil} }),
			`expert "e" gave 0 answers for 3 instances under advice "search"`,
		},
		"few answers": {
			spoilt(func(a [][]part.Prediction) [][]part.Prediction { return [][]part.Prediction{a[0], a[1][1:]} }),
			`expert "e" gave 2 answers for 3 instances under advice "search"`,
		},
		"many answers": {
			spoilt(func(a [][]part.Prediction) [][]part.Prediction {
				return [][]part.Prediction{append(a[0], a[0]...), a[1]}
			}),
			`expert "e" gave 6 answers for 3 instances under advice "none"`,
		},
		"unknown label":         {answers(part.Prediction{Label: "emu"}), ofE + `unknown label "emu"; known are cat, dog, owl`},
		"own loss NaN":          {answers(part.Prediction{Judged: true, Loss: nan}), ofE + "its loss is NaN"},
		"own loss infinite":     {answers(part.Prediction{Judged: true, Loss: inf}), ofE + "its loss is +Inf"},
		"own loss negative":     {answers(part.Prediction{Judged: true, Loss: -3}), ofE + "its loss is -3"},
		"fee NaN":               {answers(part.Prediction{Label: "cat", Fee: nan}), ofE + "its fee is NaN"},
		"fee negative":          {answers(part.Prediction{Label: "cat", Fee: -1}), ofE + "its fee is -1"},
		"fee not metered":       {expertKind(&ownExpert{answer: part.Prediction{Label: "cat", Fee: 0.25}}), ofE + "its fee is 0.25, but the expert is not Metered"},
		"no probabilities":      {probabilities(), ofE + "it has 0 probabilities for 2 labels"},
		"one probability":       {probabilities(1), ofE + "it has 1 probabilities for 2 labels"},
		"three probabilities":   {probabilities(1, 0, 0), ofE + "it has 3 probabilities for 2 labels"},
		"probability NaN":       {probabilities(0, nan), ofE + `the probability of label "emu" is NaN`},
		"probability negative":  {probabilities(-1, 2), ofE + `the probability of label "cat" is -1`},
		"probability above one": {probabilities(0.5, 2), ofE + `the probability of label "emu" is 2`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, ofRows)
			w.use(c.kinds)
			w.refused(t, c.says)
		})
	}
}

// refused runs a build that ends with an error that says something.
func (w *world) refused(t *testing.T, says string) {
	t.Helper()
	_, err := w.run(t.Context())
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("got %v, not %s", err, says)
	}
}

// TestAnswersUnderAdviceThatIsNotTaken are refused: no action could have them.
func TestAnswersUnderAdviceThatIsNotTaken(t *testing.T) {
	w := newWorld(t, ofRows)
	w.use(expertKind(&ownExpert{
		answer: part.Prediction{Label: "cat"},
		spoil:  func(a [][]part.Prediction) [][]part.Prediction { return [][]part.Prediction{a[0], a[0]} },
	}))
	w.cfg.Experts[0].Unavailable = []string{"search"}
	w.refused(t, `expert "e" gave 3 answers under advice "search", which it does not take`)
}

// TestFaultyOwnSource gives other instances than those that are asked for.
func TestFaultyOwnSource(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func([]part.Instance) []part.Instance
		says  string
	}{
		"none": {func([]part.Instance) []part.Instance { return nil }, "instances: the source gave 0 instances for 3 rows"},
		"few":  {func(l []part.Instance) []part.Instance { return l[1:] }, "instances: the source gave 2 instances for 3 rows"},
		"many": {func(l []part.Instance) []part.Instance { return append(l, l[0]) }, "instances: the source gave 4 instances for 3 rows"},
		"another order": {func(l []part.Instance) []part.Instance {
			l[0], l[1] = l[1], l[0]
			return l
		}, "instances: the source gave row 1, {ID:r1 Label:dog Split:train Group:}, for row 0, {ID:r0 Label:cat Split:train Group:}"},
		"another label": {func(l []part.Instance) []part.Instance {
			l[0].Label = "owl"
			return l
		}, "instances: the source gave row 0, {ID:r0 Label:owl"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, ofRows)
			w.use(&part.Kinds{Sources: map[string]part.NewSource{"own": w.ownSourceOf(&ownSource{spoil: c.spoil, fits: 100})}})
			w.refused(t, c.says)
		})
	}
}

// TestBatchesHoldAtLeastOneInstance, whatever memory an own source states.
func TestBatchesHoldAtLeastOneInstance(t *testing.T) {
	as := func(l []part.Instance) []part.Instance { return l }
	for _, fits := range []int{-1, 0, 1, 100} {
		w := newWorld(t, ofRows)
		w.use(&part.Kinds{Sources: map[string]part.NewSource{"own": w.ownSourceOf(&ownSource{spoil: as, fits: fits})}})
		_, tensor := w.mustRun(t)
		if tensor.Len() != ofRows {
			t.Errorf("fits %d: %d rows", fits, tensor.Len())
		}
	}
}

// TestOwnAnswersThatArePossible: no usable answer, a class that only the network knows, and a label whose loss is known.
func TestOwnAnswersThatArePossible(t *testing.T) {
	for name, c := range map[string]struct {
		expert part.Expert
		loss   float32
	}{
		"no usable answer":  {&ownExpert{answer: part.Prediction{}}, 1},
		"own class":         {&ownClassifier{ownExpert{answer: part.Prediction{Label: "emu", Probabilities: []float32{-0.001, 1.001}}}}, 1},
		"judged, no label":  {&ownExpert{answer: part.Prediction{Judged: true, Loss: 0.75}}, 0.75},
		"judged, any label": {&ownExpert{answer: part.Prediction{Label: "emu", Judged: true, Loss: 0.5}}, 0.5},
	} {
		w := newWorld(t, ofRows)
		w.use(expertKind(c.expert))
		_, tensor := w.mustRun(t)
		for cell, loss := range tensor.Loss {
			if loss != c.loss {
				t.Fatalf("%s: loss %d is %v, not %v", name, cell, loss, c.loss)
			}
		}
	}
}

// TestEncodedSourceNeedsAnEncoder: the parts that ask for it would crash.
func TestEncodedSourceNeedsAnEncoder(t *testing.T) {
	w := newWorld(t, ofRows)
	table := w.allKinds().Sources["table"]
	w.use(&part.Kinds{Sources: map[string]part.NewSource{
		"own": func(ctx context.Context, s *part.Setup, settings map[string]any) (part.Source, error) {
			source, err := table(ctx, s, settings)
			return &withoutEncoder{Source: source}, err
		},
	}})
	w.refused(t, "instances: the source has no encoder")
}

// TestOwnAdviceShowsTheGroupsThereAre: an expert that learns would look for the others.
func TestOwnAdviceShowsTheGroupsThereAre(t *testing.T) {
	w := newTabularWorld(t, 40)
	w.use(adviceKind(func(b []part.Instance) []part.AdvicePayload {
		return part.ShowAll(b, part.AdvicePayload{Groups: []bool{true}})
	}))
	w.cfg.Experts = []part.ExpertConfig{{Name: "e", Kind: "own"}}
	w.kinds.Experts = expertKind(&ownExpert{}).Experts
	w.refused(t, "Groups has 1 values, not 3")
}

// TestVersionOfOwnCode: a build sees that the code of an own kind has changed only by the version that the kind states.
func TestVersionOfOwnCode(t *testing.T) {
	w := newWorld(t, ofRows)
	version := "1"
	w.use(&part.Kinds{Experts: map[string]part.NewExpert{"own": func(_ context.Context, s *part.Setup, _ map[string]any) (part.Expert, error) {
		s.Input("version", version)
		return &ownExpert{answer: part.Prediction{Label: "cat"}}, nil
	}}})
	w.mustRun(t)
	if r, _ := w.mustRun(t); r.Resumed != r.Shards {
		t.Errorf("the same version: %d of %d shards are resumed", r.Resumed, r.Shards)
	}
	version = "2"
	w.refused(t, `version of expert "e" was 1, is 2`)
}
