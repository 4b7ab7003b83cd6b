package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"pipe/featurize/tabular"
	"pipe/internal/safetext"
	"pipe/internal/storage"
	"pipe/pipeline/decisionlog"
	"pipe/pipeline/stage"
)

// tableExplanation describes a table of pipe featurize.
type tableExplanation struct {
	Format  int                       `json:"format"`
	Kind    string                    `json:"kind"`
	File    string                    `json:"file"`
	Rows    int                       `json:"rows"`
	Splits  map[string]int            `json:"splits"` // rows per split
	Labels  map[string]map[string]int `json:"labels"` // rows per split and label; "" is an unknown one
	Encoder encoderExplanation        `json:"encoder"`
}

// encoderExplanation describes an encoder of raw rows.
type encoderExplanation struct {
	Format int            `json:"format"`
	Kind   string         `json:"kind"`
	File   string         `json:"file"`
	Digest string         `json:"digest"`
	Rows   int            `json:"rows"` // training rows that it was fitted on
	ID     string         `json:"id"`
	Labels []string       `json:"labels"` // the negative one first
	Dense  int            `json:"dense"`  // numbers per row for networks
	Tree   int            `json:"tree"`   // numbers per row for trees
	Groups []encodedGroup `json:"groups"` // in the order of disclosure
}

// encodedGroup is one column group of an encoder.
type encodedGroup struct {
	Name       string   `json:"name"`
	Numeric    []string `json:"numeric"`
	Categories []string `json:"categories"`
	Empty      []string `json:"empty"` // without any value in the training rows; they are included in the other fields
	Dense      int      `json:"dense"`
	Tree       int      `json:"tree"`
}

// explainParquet explains a decision log, a table of pipe featurize, or else a cost tensor.
func explainParquet(ctx context.Context, path storage.Location, o Options) (Explanation, error) {
	if decisionlog.IsLog(path.Path()) {
		return explainLog(ctx, path, o)
	}
	if stage.IsFolder(ctx, path) {
		return explainTensor(ctx, path, o)
	}
	t, err := tabular.OpenTable(ctx, path)
	if errors.Is(err, tabular.ErrNotTable) {
		return explainTensor(ctx, path, o)
	}
	if err != nil {
		return nil, err
	}
	defer t.Close()
	e := &tableExplanation{
		Format: 1, Kind: "table", File: path.String(), Rows: t.Len(), Splits: map[string]int{}, Labels: map[string]map[string]int{},
		Encoder: explainTableEncoder(path.String(), t.Encoder()),
	}
	for i, split := range t.Splits() {
		if e.Splits[split]++; e.Splits[split] == 1 {
			e.Labels[split] = map[string]int{}
		}
		e.Labels[split][t.Labels()[i]]++
	}
	return e, nil
}

func explainEncoder(ctx context.Context, path storage.Location, _ Options) (Explanation, error) {
	e, err := tabular.ReadEncoder(ctx, path)
	if err != nil {
		return nil, err
	}
	x := explainTableEncoder(path.String(), e)
	return &x, nil
}

func explainTableEncoder(path string, e *tabular.Encoder) encoderExplanation {
	x := encoderExplanation{
		Format: 1, Kind: "encoder", File: path, Digest: e.Digest(), Rows: e.Rows(), ID: e.IDColumn(), Labels: e.Labels(),
		Dense: e.Width(tabular.LayoutDense), Tree: e.Width(tabular.LayoutTree),
	}
	dense, tree := e.GroupEnds(tabular.LayoutDense), e.GroupEnds(tabular.LayoutTree)
	for i, name := range e.Groups() {
		g := encodedGroup{Name: name, Numeric: []string{}, Categories: []string{}, Empty: []string{}, Dense: dense[i], Tree: tree[i]}
		if i > 0 {
			g.Dense, g.Tree = dense[i]-dense[i-1], tree[i]-tree[i-1]
		}
		x.Groups = append(x.Groups, g)
	}
	for _, c := range e.Columns() {
		g := &x.Groups[c.Group]
		if c.Categorical {
			g.Categories = append(g.Categories, c.Name)
		} else {
			g.Numeric = append(g.Numeric, c.Name)
		}
		if c.Empty {
			g.Empty = append(g.Empty, c.Name)
		}
	}
	return x
}

// WriteText writes the explanation for a terminal.
func (e *tableExplanation) WriteText(w io.Writer) error {
	b := safetext.Titled(e.File, "table of pipe featurize")
	b.Add("rows", "%d", e.Rows)
	for _, split := range slices.Sorted(maps.Keys(e.Splits)) {
		var labels []string
		for _, l := range slices.Sorted(maps.Keys(e.Labels[split])) {
			labels = append(labels, fmt.Sprintf("%d of label %q", e.Labels[split][l], l))
		}
		b.Add(split, "%d rows: %s", e.Splits[split], strings.Join(labels, ", "))
	}
	e.Encoder.write(b)
	return b.WriteText(w)
}

// WriteText writes the explanation for a terminal.
func (e *encoderExplanation) WriteText(w io.Writer) error {
	b := safetext.Titled(e.File, "encoder of raw rows")
	e.write(b)
	return b.WriteText(w)
}

func (e *encoderExplanation) write(b *safetext.Fields) {
	b.Add("encoder", "%s, fitted on %d training rows", e.Digest, e.Rows)
	b.Add("id, labels", "%s, %s", e.ID, strings.Join(e.Labels, ", "))
	b.Add("numbers per row", "%d for networks, %d for trees", e.Dense, e.Tree)
	for _, g := range e.Groups {
		empty := ""
		if len(g.Empty) > 0 {
			empty = ", without one value: " + strings.Join(g.Empty, ", ")
		}
		b.Add("group "+g.Name, "%d numeric and %d categorical columns, %d and %d numbers%s",
			len(g.Numeric), len(g.Categories), g.Dense, g.Tree, empty)
	}
}
