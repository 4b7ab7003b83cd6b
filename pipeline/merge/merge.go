package merge

import (
	"context"
	"io"
	"slices"
	"strings"

	"pipe/costs/grow"
	"pipe/internal/atomicfile"
	"pipe/internal/safetext"
	"pipe/internal/storage"
	"pipe/pipeline/stage"
)

// Options are the options of Merge.
type Options struct {
	Files []storage.Location // tensors: files, or folders of parts
	Out   storage.Location
	grow.MergeOptions
}

// Report is the result of Merge. It is the JSON object of pipe merge --json.
type Report struct{ grow.MergeReport }

// Run joins cost tensors; see grow.Merge. Files that do not fit together are a *costs.DataError.
func Run(ctx context.Context, o Options, progress stage.Progress) (*Report, error) {
	if err := o.files(ctx).Check(ctx); err != nil {
		return nil, err
	}
	if err := atomicfile.MakeFolderAt(ctx, o.Out); err != nil {
		return nil, err
	}
	o.Progress = stage.OrQuiet(progress)
	r, err := grow.Merge(ctx, o.Files, o.Out, o.MergeOptions)
	if err != nil {
		return nil, err
	}
	return &Report{*r}, nil
}

func (o Options) files(ctx context.Context) stage.Files {
	var reads []stage.Input
	for _, file := range o.Files {
		reads = append(reads, stage.TensorFiles(ctx, file, storage.Location{})...)
	}
	return stage.Files{Reads: append(reads, stage.NamedFiles(o.FeeFile)...), Writes: []stage.Output{{Path: o.Out}}}
}

// WriteText writes the result for a terminal.
func (r *Report) WriteText(w io.Writer) error {
	b := safetext.Titled(r.File, "cost tensor")
	for _, in := range r.Inputs {
		b.Add("from", "%s, %d rows%s", in.File, in.Rows, safetext.Counted(", %d of them known and equal", in.Same))
	}
	b.Add("joined", "%s", map[string]string{grow.Rows: "row by row", grow.Pairs: "side by side"}[r.Mode])
	b.Add("instances", "%d (%d train, %d val, %d test)", r.Rows, r.Splits["train"], r.Splits["val"], r.Splits["test"])
	b.Add("pairs", "%d%s", r.Actions, safetext.Counted(", %d outcomes unknown", r.Unknown))
	b.Add("features", "%d", r.Dim)
	AddGroups(b, r.GroupReport)
	b.Add("other inputs", "%s", safetext.After("different in the files: ", strings.Join(r.Digests, ", ")))
	b.Add("not known", "%s", strings.Join(r.NoUsage, ", "))
	b.Add("left out", "%s", strings.Join(r.Left, ", "))
	b.Add("digest", "%s", r.Digest)
	return b.WriteText(w)
}

// AddGroups adds the number of groups, and which of them the splits divide.
func AddGroups(b *safetext.Fields, g grow.GroupReport) {
	if g.Groups == 0 {
		return
	}
	b.Add("groups", "%d%s", g.Groups, safetext.Counted(", %d of them in several files", g.Shared))
	if g.Divided == 0 {
		return
	}
	b.Add("divided", "%d groups are in more than one split%s (%s): figures on held-out rows may be too good",
		g.Divided, safetext.Counted(", %d of them only since the files are joined", g.Across), firstOf(g.First, g.Divided))
}

// firstOf lists the first of a number of things.
func firstOf(list []string, count int) string {
	list = slices.Clone(list)
	if count > len(list) {
		list = append(list, "...")
	}
	return strings.Join(list, ", ")
}
