package trained

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/experts/builder/part"
)

// Folds say which examples an expert learns from, and which of its models
// answers for which instance. With folds there is one model of all training rows,
// and for each fold one model of the other folds. The model that has not seen a
// training row answers for it; the model of all rows answers for other instances.
type foldPlan struct {
	Labels  []string // in the order of the classes
	Class   []int    // per example, an index into Labels
	Rows    []int    // per example, its instance, ascending; nil if the examples are not instances
	Folds   int      // 0: the model of all examples answers for every instance
	seed    uint64   // of the draw of folds
	repeats int      // rows that follow another one into its fold
	fold    []int8   // per example; nil without folds
	at      []int32  // per instance of the build, its example or -1; nil without folds
}

// sharedFoldPlan returns the folds that the experts of a build share. The first
// call adds them to the inputs of the build, so builds without trained experts do
// not have them.
func sharedFoldPlan(ctx context.Context, b *part.Build) (*foldPlan, error) {
	return part.Shared(b, "", func() (*foldPlan, error) {
		var twins []int
		if source, ok := b.Source.(part.TwinFinder); ok && b.CrossFit > 0 {
			var err error
			if twins, err = source.Twins(ctx); err != nil {
				return nil, err
			}
			if n := len(source.Entries()); len(twins) != n {
				return nil, fmt.Errorf("instances: the source gave %d numbers of twins for %d instances", len(twins), n)
			}
		}
		l, err := newFoldPlan(b.Source.Entries(), b.TrainingSplits(), b.Labels, b.CrossFit, b.FoldSeed, twins)
		if err != nil {
			return nil, err
		}
		b.Inputs["cross_fit"] = l.how()
		if l.Folds > 0 {
			return l, b.Inputs.SetJSON(part.SettingsRole, "folds", b.FoldSeed)
		}
		return l, nil
	})
}

// newFoldPlan assigns the training rows of a build to folds, within every label as
// evenly as possible. Rows of one group stay together, and so do rows with the same
// number in twins, which has one per instance or is nil. The draw depends on the
// labels, their order, the rows that stay together, and seed.
func newFoldPlan(entries []part.Entry, splits []costs.Split, labels []string, folds int, seed uint64, twins []int) (*foldPlan, error) {
	l := &foldPlan{Labels: labels, Folds: folds, seed: seed}
	for n, e := range entries {
		if splits[n] != costs.Train {
			continue
		}
		c := slices.Index(labels, e.Label)
		if c < 0 {
			return nil, fmt.Errorf("instance %q has no label, but is a training row", e.ID)
		}
		l.Rows, l.Class = append(l.Rows, n), append(l.Class, c)
	}
	if err := l.check(); err != nil {
		return nil, err
	}
	if folds > 0 {
		l.deal(len(entries), seed, l.clusters(entries, twins))
		return l, l.checkFolds()
	}
	return l, nil
}

// check checks that the training data of every model have every label.
func (l *foldPlan) check() error {
	if len(l.Rows) == 0 {
		return errors.New("there are no training rows")
	}
	need := 1
	if l.Folds > 0 {
		need = 2 // in different folds, so that each model has one of them
	}
	for c, n := range l.counts() {
		switch {
		case n == 0:
			return fmt.Errorf("no training row has the label %q; an expert cannot learn from %s alone", l.Labels[c], l.others(c))
		case n < need:
			return fmt.Errorf("only 1 training row has the label %q: with cross_fit %d the model without it would learn from %s alone", l.Labels[c], l.Folds, l.others(c))
		}
	}
	return nil
}

func (l *foldPlan) others(class int) string {
	var names []string
	for c, label := range l.Labels {
		if c != class {
			names = append(names, fmt.Sprintf("%q", label))
		}
	}
	return strings.Join(names, ", ")
}

// counts returns the training rows of each class.
func (l *foldPlan) counts() []int {
	n := make([]int, len(l.Labels))
	for _, c := range l.Class {
		n[c]++
	}
	return n
}

// clusters returns the examples that stay together.
func (l *foldPlan) clusters(entries []part.Entry, twins []int) costs.Clusters {
	var same [][]int
	if entries[0].Group != "" {
		groups := make([]string, len(l.Rows))
		for i, row := range l.Rows {
			groups[i] = entries[row].Group
		}
		same = append(same, costs.Numbered(groups))
	}
	if twins != nil {
		numbers := make([]int, len(l.Rows))
		for i, row := range l.Rows {
			numbers[i] = twins[row]
		}
		same = append(same, numbers)
	}
	return costs.NewClusters(len(l.Rows), same...)
}

// deal goes through the examples, label by label and shuffled, and puts each, with
// the rest of its cluster, into the fold that has the fewest so far.
func (l *foldPlan) deal(instances int, seed uint64, together costs.Clusters) {
	l.repeats = together.Repeats()
	l.fold, l.at = make([]int8, len(l.Rows)), make([]int32, instances)
	for n := range l.at {
		l.at[n] = -1
	}
	groups := make([][]int, len(l.Labels))
	for i, row := range l.Rows {
		l.at[row] = int32(i)
		groups[l.Class[i]] = append(groups[l.Class[i]], i)
	}
	r := rand.New(rand.NewPCG(seed, 0x666f6c6473)) // a random stream for folds only
	load, foldOf := make([]int, l.Folds), make([]int, together.Len())
	for k := range foldOf {
		foldOf[k] = -1
	}
	for _, rows := range groups {
		r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		for _, i := range rows {
			k := together.Of[i]
			if foldOf[k] < 0 {
				foldOf[k] = slices.Index(load, slices.Min(load))
				load[foldOf[k]] += together.Size[k]
			}
			l.fold[i] = int8(foldOf[k])
		}
	}
}

// checkFolds checks that every model has examples of every label.
func (l *foldPlan) checkFolds() error {
	in := make([]int, len(l.Labels)) // a fold of each label, counted from 1
	several := make([]bool, len(l.Labels))
	for i, c := range l.Class {
		f := int(l.fold[i]) + 1
		several[c] = several[c] || in[c] != 0 && in[c] != f
		in[c] = f
	}
	for c, ok := range several {
		if !ok {
			return fmt.Errorf("all training rows with the label %q are in one fold, since they belong together: with cross_fit %d the model without them would learn from %s alone",
				l.Labels[c], l.Folds, l.others(c))
		}
	}
	return nil
}

// models is the number of models of an expert: the model of all rows, then one
// per fold.
func (l *foldPlan) models() int { return 1 + l.Folds }

// model returns which model answers for an instance of the build.
func (l *foldPlan) model(row int) int {
	if l.at == nil || l.at[row] < 0 {
		return 0
	}
	return 1 + int(l.fold[l.at[row]])
}

// learns returns the training data of a model: ascending indices of examples.
func (l *foldPlan) learns(model int) []int32 {
	rows := make([]int32, 0, len(l.Class))
	for i := range l.Class {
		if model == 0 || int(l.fold[i]) != model-1 {
			rows = append(rows, int32(i))
		}
	}
	return rows
}

// name distinguishes the models of an expert: "" or "-fold0" and so on.
func (l *foldPlan) name(model int) string {
	if model == 0 {
		return ""
	}
	return fmt.Sprintf("-fold%d", model-1)
}

// identity distinguishes these folds from other folds of the same rows.
func (l *foldPlan) identity() string {
	return fmt.Sprintf("%d folds%s, seed %d", l.Folds, l.kept(), l.seed)
}

// kept describes how many rows stay with others in their folds, "" if none does.
func (l *foldPlan) kept() string {
	if l.repeats == 0 {
		return ""
	}
	return fmt.Sprintf(" with %d rows kept beside others of their group or with equal values", l.repeats)
}

// how describes which models answer for training rows.
func (l *foldPlan) how() string {
	if l.Folds == 0 {
		return "in-sample"
	}
	return fmt.Sprintf("%d folds%s", l.Folds, l.kept())
}
