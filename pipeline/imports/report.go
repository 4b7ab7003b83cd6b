package imports

import (
	"context"
	"errors"
	"io"
	"strings"

	"pipe/costs"
	"pipe/costs/grow"
	"pipe/costs/outcome"
	"pipe/experts/chat"
	"pipe/internal/safetext"
	"pipe/internal/storage"
	"pipe/pipeline/merge"
	"pipe/pipeline/stage"
)

// Report is the result of Import. It is the JSON object of pipe import --json.
type Report struct {
	Format int    `json:"format"`
	File   string `json:"file"`
	Digest string `json:"digest"`
	outcome.Report
	Note   string         `json:"note,omitempty"`           // about the features of a preset
	Moved  *MovedRows     `json:"moved,omitempty"`          // compared with the tensor that was at File before
	Prices *ChangedPrices `json:"changed_prices,omitempty"` // compared with that tensor, too

	Answers []chat.AnswerCount `json:"answers,omitempty"` // of the chat models that judged
	Append  *Appended          `json:"append,omitempty"`  // where the rows were added to the tensor at File
}

// MovedRows counts ids whose split differs from the tensor that an import replaced.
type MovedRows struct {
	IDs   int `json:"ids"`
	Train int `json:"train"` // of these, ids that were held out and are now training rows
}

// moved compares splits with those of the tensor at path. It is nil if there is none, if it cannot be read, or if no id
// has moved.
func moved(ctx context.Context, path storage.Location, t *costs.Tensor) *MovedRows {
	r, err := costs.OpenReader(ctx, path, costs.ReadOptions{Unknown: true})
	if err != nil {
		return nil
	}
	defer r.Close()
	split := make(map[string]costs.Split, t.Len())
	for i, id := range t.IDs {
		split[id] = t.Splits[i]
	}
	var m MovedRows
	for {
		old, err := r.Next()
		switch {
		case errors.Is(err, io.EOF) && m.IDs > 0:
			return &m
		case err != nil:
			return nil
		}
		for i, id := range old.IDs {
			if now, ok := split[id]; ok && now != old.Splits[i] {
				m.IDs++
				if now == costs.Train {
					m.Train++
				}
			}
		}
	}
}

// WriteText writes the result for a terminal.
func (r *Report) WriteText(w io.Writer) error {
	b := safetext.Titled(r.File, "cost tensor")
	b.Add("outcomes", "%d rows%s", r.OutcomeRows, safetext.Counted(", %d of them ignored", r.IgnoredRows))
	b.Add("instances", "%d, %d kept", r.Instances, r.Kept)
	b.Add("missing cells", "%s", safetext.Counted("%d", r.MissingCells))
	b.Add("missing usage", "%s", safetext.Counted("%d of these cells have an outcome, but not the usage that its fee needs", r.MissingUsage))
	for _, d := range r.Dropped {
		b.Add("dropped", "%d: %s (%s ...)", d.Count, d.Reason, strings.Join(d.First, ", "))
	}
	b.Add("unused", "%s", safetext.Counted("%d feature rows of ids without outcomes", r.UnusedRows))
	b.Add("", "%s", r.Spelling)
	b.Add("groups", "%s", stage.GroupsLine(r.Groups, r.Divided))
	b.Add("split", "%s", r.UnevenLine())
	if m := r.Moved; m != nil {
		b.Add("moved", "%d ids are in another split than in the file that was here; %d of them were held out and are trained on now; "+
			"if splits are drawn, kind: stratified keeps the exact draw of earlier files", m.IDs, m.Train)
	}
	b.Add("time", "%s", timeLine(r.Time))
	b.Add("features", "%d", len(r.FeatureNames))
	b.Add("to serve", "%s", r.Unserved)
	for _, f := range r.Observed {
		b.Add("observed", "%s, %s: known of %d answers", f.Name, f.Kind, f.Known)
	}
	if g := r.Graded; g != nil {
		b.Add("graded", "%d answers by %s%s", g.Answers, g.Kind, safetext.Counted("; %d have nothing to judge, and count as wrong", g.Without))
	}
	addUnknown(b, r.Unknown)
	addFees(b, r.MeasuredFees, r.Prices)
	for _, c := range r.Constants {
		b.Add(c.Split, "%d rows; best fixed pair %s at %.4f, oracle %.4f (lambda 1)", c.Rows, c.Best, c.BestCost, c.Oracle)
	}
	for _, c := range r.NewCategories {
		b.Add("new category", "%s %s in %d rows, which have 0 in all features of the column", c.Column, c.Value, c.Rows)
	}
	r.Append.write(b)
	b.Add("digest", "%s", r.Digest)
	b.Add("note", "%s", r.Note)
	if err := b.WriteText(w); err != nil {
		return err
	}
	return chat.WriteCounts(w, r.Answers)
}

// timeLine states how the splits follow each other in time, "" without times.
func timeLine(o *costs.TimeOrder) string {
	if o == nil {
		return ""
	}
	line := "training rows until " + o.Train
	if o.Val != "" {
		line += ", validation rows from " + o.Val
	}
	if o.Test != "" {
		line += ", test rows from " + o.Test
	}
	return line + safetext.Counted("; %d held-out rows are not later than all training rows", o.Early)
}

// Appended describes an import that added rows to a tensor.
type Appended struct {
	grow.MergeReport
	Changed    []grow.FeeChange `json:"changed_fees,omitempty"` // fees of the tensor, and of the configuration
	Fees       string           `json:"fees,omitempty"`         // whose fees the result has, where they differ
	OtherSplit int              `json:"other_split,omitempty"`  // rows of the tensor that the configuration would put into another split
}

// write writes the lines for a terminal; none for nil.
func (a *Appended) write(b *safetext.Fields) {
	if a == nil {
		return
	}
	old, added := a.Inputs[0], a.Inputs[1]
	b.Add("appended", "%d rows to %d%s; now %d (%d train, %d val, %d test)", added.Rows-added.Same, old.Rows,
		safetext.Counted(", %d more were known and are equal", added.Same), a.Rows, a.Splits["train"], a.Splits["val"], a.Splits["test"])
	for _, f := range a.Changed {
		b.Add("fee", "%s %s: %g in the tensor, %g in the configuration; the %s one holds for all rows", f.Kind, f.Name, f.A, f.B, a.Fees)
	}
	b.Add("other split", "%s", safetext.Counted("%d rows of the tensor would be in another split with this configuration; they keep theirs", a.OtherSplit))
	merge.AddGroups(b, a.GroupReport)
	b.Add("other inputs", "%s", safetext.After("different in the tensor and here: ", strings.Join(a.Digests, ", ")))
	b.Add("not known", "%s", strings.Join(a.NoUsage, ", "))
	b.Add("left out", "%s", strings.Join(a.Left, ", "))
}
