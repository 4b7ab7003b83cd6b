package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"pipe/costs"
	"pipe/models"
	"pipe/models/auto"
	"pipe/models/policy"
	"pipe/onnx/ort"
	"pipe/pipeline/decide"
	"pipe/pipeline/methods"
	"pipe/pipeline/stage"
)

// Learned has the decisions of a policy on the reported rows, in their order.
type Learned struct {
	Info   *policy.Info
	Action []int     // per row
	Scores []float32 // rows x actions
	Loss   []float32 // rows x actions, expected task loss with measured fees; nil: the policy is not by estimates

	File    string // that the policy was read from; "": none
	Digest  string // of the policy, independent of its file name; "": from memory
	Encoder string // in front of the policy, which took the features of the tensor instead; "": none

	prices *anyPrice // of an any-price policy, which has not decided yet; nil: Action has the decisions
}

// OpenLearned reads a policy file that matches t and decides the given rows of t. A t that is not valid is an error of
// costs.Tensor.Validate; if it has no such row, the error is a *costs.DataError.
func OpenLearned(ctx context.Context, rt *ort.Runtime, file string, t *costs.Tensor, rows []int) (Learned, error) {
	if err := checkRows(rt, t, rows); err != nil {
		return Learned{}, err
	}
	return openLearned(ctx, rt, file, t, rows)
}

// openLearned is OpenLearned without checks of the tensor and the rows. An any-price policy decides at the prices of its
// training.
func openLearned(ctx context.Context, rt *ort.Runtime, file string, t *costs.Tensor, rows []int) (l Learned, err error) {
	f, d, err := openPolicy(rt, file, t)
	if err != nil {
		return l, err
	}
	defer func() {
		if err = errors.Join(err, d.Close()); err != nil {
			err = fmt.Errorf("policy %q: %w", file, err)
		}
	}()
	if l, err = decideRows(ctx, d, d.Info().PriceAt(d.Info().Actions, d.Info().Lambda), t, rows); err != nil {
		return l, err
	}
	return l, l.identify(f, file)
}

// openPolicy opens a policy file that matches t, for decisions on features.
func openPolicy(rt *ort.Runtime, file string, t *costs.Tensor) (*decide.PolicyFile, *policy.Decider, error) {
	f, err := decide.ReadPolicy(file)
	if err != nil {
		return nil, nil, err
	}
	d, err := f.Open(rt)
	if err != nil {
		return nil, nil, err
	}
	if err := d.Info().Matches(t); err != nil {
		err = &costs.DataError{Err: err} // for the user, two files that do not match
		return nil, nil, fmt.Errorf("policy %q: %w", file, errors.Join(err, d.Close()))
	}
	if m := methods.Named(d.Info().Method); m.Role != models.RolePolicy {
		err = &costs.DataError{Msg: fmt.Sprintf("its method is %q, a name that reports use for another method: %s", m.Name, m.About)}
		return nil, nil, fmt.Errorf("policy %q: %w", file, errors.Join(err, d.Close()))
	}
	return f, d, nil
}

// identify records the file.
func (l *Learned) identify(f *decide.PolicyFile, file string) (err error) {
	l.File = file
	if f.About != nil {
		l.Encoder = f.About.Name
	}
	l.Digest, err = f.Digest()
	return err
}

// once removes duplicate policies, which may have another file name or an encoder in front, and returns notes about
// them: a policy counted twice would look like two seeds that agree.
func once(learned []Learned) (kept []Learned, notes []string) {
	first := map[string]string{}
	for _, l := range learned {
		if file, seen := first[l.Digest]; seen {
			notes = append(notes, fmt.Sprintf("%s is the same policy as %s, and is counted once.", l.File, file))
			continue
		}
		first[l.Digest] = l.File
		kept = append(kept, l)
	}
	return kept, notes
}

// decideRows runs a policy at prices over rows of a tensor in batches. A row that cannot be decided on is a
// *costs.DataError.
func decideRows(ctx context.Context, d *policy.Decider, p *policy.Pricing, t *costs.Tensor, rows []int) (Learned, error) {
	l := Learned{Info: d.Info()}
	const batch = 8192
	var features []float32
	for part := range slices.Chunk(rows, batch) {
		features = features[:0]
		for _, n := range part {
			features = append(features, t.Row(n)...)
		}
		out, err := decideBatch(ctx, d, p, features, len(part))
		var bad *policy.RowError
		if errors.As(err, &bad) {
			n := part[bad.Row]
			err = &costs.DataError{Row: n + 1, Msg: fmt.Sprintf("id %q", t.IDs[n]), Err: bad.Err}
		}
		if err != nil {
			return l, err
		}
		for _, a := range out.Action {
			l.Action = append(l.Action, int(a))
		}
		l.Scores, l.Loss = append(l.Scores, out.Scores...), append(l.Loss, out.Loss...)
	}
	return l, nil
}

// DecideRows exports a policy, opens the exported file and decides the given rows of t, so that the results are those
// of the deployed file. A t that is not valid is an error of costs.Tensor.Validate; if it has no such row or does not
// match the policy, the error is a *costs.DataError.
func DecideRows(ctx context.Context, rt *ort.Runtime, p *policy.Policy, t *costs.Tensor, rows []int) (Learned, error) {
	if err := errors.Join(checkRows(rt, t, rows), p.Validate()); err != nil {
		return Learned{}, err
	}
	if err := p.Matches(t); err != nil {
		return Learned{}, &costs.DataError{Err: err}
	}
	return exportAndDecide(ctx, rt, p, t, rows)
}

// exportAndDecide is DecideRows without its checks.
func exportAndDecide(ctx context.Context, rt *ort.Runtime, p *policy.Policy, t *costs.Tensor, rows []int) (Learned, error) {
	m, err := p.Export()
	if err != nil {
		return Learned{}, err
	}
	d, err := policy.NewDecider(rt, m)
	if err != nil {
		return Learned{}, err
	}
	defer d.Close()
	return decideRows(ctx, d, d.Info().PriceAt(p.Actions, p.Lambda), t, rows)
}

// checkLearned refuses decisions that are not those of a policy on the reported rows of t.
func checkLearned(t *costs.Tensor, learned []Learned, o EvalOptions) error {
	split, err := costs.ParseSplit(o.Split)
	if err != nil {
		return err
	}
	rows, actions := len(t.Rows(split)), t.Actions.Len()
	for i, l := range learned {
		switch {
		case l.Info == nil:
			return fmt.Errorf("decisions %d: they name no policy", i)
		case len(l.Action) != rows || len(l.Scores) != rows*actions:
			return fmt.Errorf("decisions %d: %d actions and %d scores, but split %s has %d rows and %d pairs",
				i, len(l.Action), len(l.Scores), o.Split, rows, actions)
		case l.Loss != nil && len(l.Loss) != rows*actions:
			return fmt.Errorf("decisions %d: %d expected losses, but split %s has %d rows and %d pairs", i, len(l.Loss), o.Split, rows, actions)
		}
		for n, a := range l.Action {
			if a < 0 || a >= actions || !t.Actions.Available(a) {
				return fmt.Errorf("decisions %d: row %d has the action %d, which does not exist", i, n, a)
			}
		}
	}
	return nil
}

// sameTraining refuses policies that would be treated as seeds of one method although they were trained on other data
// or with other settings, such as leftovers of an earlier run in the same folder.
func sameTraining(learned []Learned) error {
	type key struct {
		method string
		lambda float64
	}
	first := map[key]Learned{}
	for _, l := range learned {
		k := key{l.Info.Method, l.Info.Lambda}
		other, seen := first[k]
		if !seen {
			first[k] = l
			continue
		}
		if trainingOf(l) != trainingOf(other) {
			return &costs.DataError{File: l.File, Msg: fmt.Sprintf(
				"same method (%s) and lambda as %s, but another training: choose policies of one training, or train into an empty folder",
				l.Info.Method, other.File)}
		}
	}
	return nil
}

// trainingOf identifies what the seeds of one training share: data and settings. Recipe auto searches its settings
// again for every seed.
func trainingOf(l Learned) string {
	if l.Info.Recipe == auto.Name {
		return l.Info.Info[policy.OriginKey]
	}
	var settings map[string]any
	if json.Unmarshal([]byte(l.Info.Info[policy.SettingsKey]), &settings) == nil {
		delete(settings, "seed")
	}
	return l.Info.Info[policy.OriginKey] + stage.JSON(settings)
}
