package imports

import (
	"context"

	"pipe/costs"
	"pipe/costs/outcome"
	"pipe/internal/atomicfile"
	"pipe/internal/storage"
	"pipe/internal/textfile"
	"pipe/pipeline/stage"
)

// Run turns outcome tables of other programs into a cost tensor, as the configuration file specifies. Bad data is a
// *costs.DataError, a bad configuration a *config.Error; in both cases no tensor is written.
func Run(ctx context.Context, o Options, progress stage.Progress) (*Report, error) {
	if err := o.files(ctx).Check(ctx); err != nil {
		return nil, err
	}
	progress = stage.OrQuiet(progress)
	progress.Start(-1, "import")
	cfg, err := o.load(ctx)
	if err != nil {
		return nil, err
	}
	if o.Append {
		return appendRows(ctx, cfg, o, progress)
	}
	t, report, answers, err := withModels(ctx, cfg, o, progress)
	if err != nil {
		return nil, err
	}
	r, err := write(ctx, cfg, o.Out, t, report)
	if err == nil {
		r.Note, r.Answers = presetNote(cfg), answers
	}
	return r, err
}

// write writes the tensor of an import.
func write(ctx context.Context, cfg outcome.Config, out storage.Location, t *costs.Tensor, report outcome.Report) (*Report, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := atomicfile.MakeFolderAt(ctx, out); err != nil {
		return nil, err
	}
	r := &Report{Format: 1, File: out.String(), Digest: t.Digest(), Report: report}
	if cfg.Split.Kind == "" && cfg.Split.Stratify == nil && textfile.CheckRegularAt(ctx, out) == nil {
		r.Moved = moved(ctx, out, t)
	}
	if textfile.CheckRegularAt(ctx, out) == nil {
		r.Prices = changedPrices(ctx, out, t)
	}
	if err := costs.Write(ctx, out, t); err != nil {
		return nil, err
	}
	return r, nil
}
