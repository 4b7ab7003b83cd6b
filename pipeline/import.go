package pipeline

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"

	"pipe/costs"
	"pipe/costs/outcome"
	"pipe/experts/chat"
	"pipe/internal/atomicfile"
	"pipe/internal/config"
	"pipe/internal/safetext"
	"pipe/internal/storage"
	"pipe/internal/textfile"
	"pipe/onnx/ort"
	"pipe/pipeline/stage"
)

// ImportResult is the result of Import. It is the JSON object of pipe import --json.
type ImportResult struct {
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
func moved(path string, t *costs.Tensor) *MovedRows {
	r, err := costs.OpenReader(path, costs.ReadOptions{Unknown: true})
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

// ImportOptions are the options of one import.
type ImportOptions struct {
	Config  string     // the configuration file; relative paths in it are relative to its folder
	Preset  string     // instead: the name of the preset that is the configuration
	In      string     // the file or folder of outcomes; needed with Preset, and else instead of that of Config
	Prices  string     // a price file instead of that of the configuration; may be ""
	Encoder string     // an encoder of texts for the columns whose length would be a feature; may be ""
	Out     string     // the tensor; vectors of texts and images are kept in the folder experts beside it
	Runtime ort.Config // library and device for models; opened only if there are some

	Answers string       // folder of the answers of chat models that judge; "": answers beside the output
	Budget  *chat.Budget // for new answers of chat models; nil: any

	Partials outcome.Partials // outcomes that were read before, instead of those of the table; nil: none

	Append        bool   // add the rows to the tensor at Out
	KeepSame      bool   // with Append: rows that the tensor has with equal content are left out; otherwise they are an error
	Fees          string // with Append, where fees differ: OldFees or NewFees; "": an error
	NewCategories bool   // with Append: values of categorical columns without a feature are accepted, see outcome.Base
}

// Import turns outcome tables of other programs into a cost tensor, as the configuration file specifies. Bad data is a
// *costs.DataError, a bad configuration a *config.Error; in both cases no tensor is written.
func Import(ctx context.Context, o ImportOptions, progress stage.Progress) (*ImportResult, error) {
	if err := importFiles(o).Check(); err != nil {
		return nil, err
	}
	progress = stage.OrQuiet(progress)
	progress.Start(-1, "import")
	cfg, err := o.load()
	if err != nil {
		return nil, err
	}
	if o.Append {
		return appendImport(ctx, cfg, o, progress)
	}
	t, report, answers, err := importWithModels(ctx, cfg, o, progress)
	if err != nil {
		return nil, err
	}
	r, err := writeImport(ctx, cfg, o.Out, t, report)
	if err == nil {
		r.Note, r.Answers = presetNote(cfg), answers
	}
	return r, err
}

// Check reports an output that would replace an input.
func (o ImportOptions) Check() error { return importFiles(o).Check() }

// Outcomes is the configuration of the import, as LoadImport returns it.
func (o ImportOptions) Outcomes() (outcome.Config, error) { return o.load() }

// LoadImport reads the configuration of an import. Paths in the result are those of files: relative ones are joined to
// the folder of the configuration. A bad configuration is a *config.Error.
func LoadImport(file string) (outcome.Config, error) { return ImportOptions{Config: file}.load() }

// readImport reads a configuration that may be incomplete.
func readImport(file string) (outcome.Config, error) {
	f, err := config.Open(file)
	if err != nil {
		return outcome.Config{}, err
	}
	start, err := startOf(f, file)
	if err != nil {
		return start, err
	}
	cfg := unchecked(start)
	if err := f.Load(&cfg); err != nil {
		return start, err
	}
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return start, err
	}
	ResolveImport((*outcome.Config)(&cfg), dir)
	return outcome.Config(cfg), nil
}

// writeImport writes the tensor of an import.
func writeImport(ctx context.Context, cfg outcome.Config, out string, t *costs.Tensor, report outcome.Report) (*ImportResult, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := atomicfile.MakeFolder(out); err != nil {
		return nil, err
	}
	r := &ImportResult{Format: 1, File: out, Digest: t.Digest(), Report: report}
	if cfg.Split.Kind == "" && cfg.Split.Stratify == nil && textfile.CheckRegular(out) == nil {
		r.Moved = moved(out, t)
	}
	if textfile.CheckRegular(out) == nil {
		r.Prices = changedPrices(out, t)
	}
	if err := costs.Write(out, t); err != nil {
		return nil, err
	}
	return r, nil
}

// ResolveImport joins dir to the relative paths of the configuration. They are plain strings, because package costs does
// not depend on configuration files. An encoder that is no file in dir is a name in the cache of models.
func ResolveImport(c *outcome.Config, dir string) {
	files := []*string{&c.Outcomes.File, &c.Fees.File, &c.Fees.Prices}
	for i := range c.Features {
		files = append(files, &c.Features[i].File, &c.Features[i].Image.Folder)
	}
	for _, f := range files {
		if *f != "" {
			*f = config.Resolve(*f, dir)
		}
	}
	for i := range c.Features {
		for _, encoder := range []*string{&c.Features[i].Text.Encoder, &c.Features[i].Image.Encoder} {
			if inside := config.Resolve(*encoder, dir); *encoder != "" && exists(inside) {
				*encoder = inside
			}
		}
	}
}

func exists(path string) bool {
	_, err := storage.Stat(path)
	return err == nil
}

// WriteText writes the result for a terminal.
func (r *ImportResult) WriteText(w io.Writer) error {
	b := safetext.Titled(r.File, "cost tensor")
	b.Add("outcomes", "%d rows%s", r.OutcomeRows, counted(", %d of them ignored", r.IgnoredRows))
	b.Add("instances", "%d, %d kept", r.Instances, r.Kept)
	b.Add("missing cells", "%s", counted("%d", r.MissingCells))
	b.Add("missing usage", "%s", counted("%d of these cells have an outcome, but not the usage that its fee needs", r.MissingUsage))
	for _, d := range r.Dropped {
		b.Add("dropped", "%d: %s (%s ...)", d.Count, d.Reason, strings.Join(d.First, ", "))
	}
	b.Add("unused", "%s", counted("%d feature rows of ids without outcomes", r.UnusedRows))
	b.Add("", "%s", r.Spelling)
	b.Add("groups", "%s", groupsLine(r.Groups, r.Divided))
	b.Add("split", "%s", r.UnevenLine())
	if m := r.Moved; m != nil {
		b.Add("moved", "%d ids are in another split than in the file that was here; %d of them were held out and are trained on now; "+
			"if splits are drawn, kind: stratified keeps the exact draw of earlier files", m.IDs, m.Train)
	}
	b.Add("time", "%s", timeLine(r.Time))
	b.Add("features", "%d", len(r.FeatureNames))
	b.Add("to serve", "%s", r.Unserved)
	if g := r.Graded; g != nil {
		b.Add("graded", "%d answers by %s%s", g.Answers, g.Kind, counted("; %d have nothing to judge, and count as wrong", g.Without))
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
	return line + counted("; %d held-out rows are not later than all training rows", o.Early)
}

func importFiles(o ImportOptions) stage.Files {
	reads := append(stage.ConfigFiles(o.Config), stage.NamedFiles(o.Prices)...)
	if o.In != "" {
		reads = append(reads, stage.Input{Path: o.In, Part: stage.Ending(".parquet", ".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".gz"), Grow: true, Big: true})
	}
	return stage.Files{Reads: reads, Writes: []stage.Output{{Path: o.Out}, {Path: filepath.Join(o.answers(), chat.AnswersFile)}}}
}
