package features

import (
	"context"
	"errors"
	"fmt"
	"io"

	"pipe/costs"
	"pipe/featurize"
	"pipe/featurize/lexical"
	"pipe/internal/atomicfile"
	"pipe/internal/config"
	"pipe/internal/storage"
	"pipe/internal/tablefile"
	"pipe/pipeline/stage"
)

// LexicalName is the name, and the architecture, of the encoders that RunTexts makes.
const LexicalName = "lexical"

// TextOptions are the options of RunTexts.
type TextOptions struct {
	In      storage.Location // table with a row per text: what tablefile reads, or a folder of such files
	Column  string           // of the texts
	Out     storage.Location // file of the encoder
	Lexical lexical.Options
}

// DefaultTextOptions fits with the defaults of package lexical.
func DefaultTextOptions() TextOptions { return TextOptions{Lexical: lexical.DefaultOptions()} }

// Validate reports every problem at once.
func (o TextOptions) Validate() error {
	var list config.Problems
	list.Check(!o.In.IsZero(), "no file with the texts is given")
	list.Check(o.Column != "", "no column of texts is given")
	list.Check(!o.Out.IsZero(), "no file for the encoder is given")
	list.Add(o.Lexical.Validate())
	return list.Err()
}

// Files are what a run reads and writes.
func (o TextOptions) Files() stage.Files {
	tables := stage.Ending(".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".gz", ".parquet")
	return stage.Files{Reads: []stage.Input{{Path: o.In, Part: tables, Grow: true}}, Writes: []stage.Output{{Path: o.Out}}}
}

// TextReport describes the texts that were read and the encoder made of them. It is the JSON object of pipe featurize
// --text.
type TextReport struct {
	lexical.Report
	Encoder featurize.EncoderInfo `json:"encoder"`
	File    string                `json:"file"`
}

// RunTexts fits an encoder to the texts of a column, and writes it as one file, which featurize.ReadTextModel reads. It
// needs no runtime. The same texts in any order, and the same options, give the same bytes.
//
// A missing column, and texts without words, are a *costs.DataError; more components than the texts have is an
// *stage.OptionError.
func RunTexts(ctx context.Context, o TextOptions, p stage.Progress) (*TextReport, error) {
	p = stage.OrQuiet(p)
	if err := o.Validate(); err != nil {
		return nil, &stage.OptionError{Err: fmt.Errorf("featurize: %w", err)}
	}
	if err := o.Files().Check(ctx); err != nil {
		return nil, err
	}
	defer p.Done()
	texts, err := readTexts(ctx, o, p)
	if err != nil {
		return nil, err
	}
	m, err := lexical.Fit(ctx, texts, o.Lexical, phases(p))
	var rank *lexical.RankError
	switch {
	case errors.Is(err, lexical.ErrNoTexts):
		return nil, fmt.Errorf("featurize: %w", &costs.DataError{File: o.In.String(), Column: o.Column, Err: err})
	case errors.As(err, &rank):
		return nil, &stage.OptionError{Err: fmt.Errorf("featurize %q: column %s: %w", o.In, o.Column, err)}
	case err != nil:
		return nil, fmt.Errorf("featurize: %w", err)
	}
	p.Start(-1, "write encoder")
	return writeEncoder(ctx, m, o)
}

// readTexts reads the column.
func readTexts(ctx context.Context, o TextOptions, p stage.Progress) ([]string, error) {
	p.Start(-1, "read texts")
	rows, err := tablefile.OpenText(ctx, o.In)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	if err := rows.Choose(o.Column); err != nil {
		return nil, err
	}
	var texts []string
	for {
		cells, _, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return texts, nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		texts = append(texts, cells[0])
		p.Add(1)
	}
}

// phases shows the progress of a fit in percent.
func phases(p stage.Progress) lexical.Progress {
	name, shown := "", int64(0)
	return func(phase string, share float64) {
		if phase != name {
			p.Start(100, phase)
			name, shown = phase, 0
		}
		if percent := min(99, int64(100*share)); percent > shown {
			p.Add(percent - shown)
			shown = percent
		}
	}
}

func writeEncoder(ctx context.Context, m *lexical.Model, o TextOptions) (*TextReport, error) {
	model, err := featurize.NewTextModel(featurize.MadeText{
		Name: LexicalName, Architecture: LexicalName, Graph: m.Graph, Tokenizer: m.Tokenizer, Head: m.Head, MaxLength: m.MaxLength,
		Vocab: int64(m.Tokens),
	})
	if err != nil {
		return nil, fmt.Errorf("featurize: %w", err)
	}
	file, err := model.Encoder()
	if err != nil {
		return nil, fmt.Errorf("featurize: %w", err)
	}
	content, err := file.Marshal()
	if err == nil {
		err = atomicfile.WriteFileAt(ctx, o.Out, content)
	}
	if err != nil {
		return nil, fmt.Errorf("featurize: write encoder: %w", err)
	}
	return &TextReport{Report: m.Report, Encoder: model.Info(), File: o.Out.String()}, nil
}

// WriteText writes the report for a reader at a terminal.
func (r *TextReport) WriteText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%d texts: %d without a known word, %d cut after %d tokens\n"+
		"%d words, %d pieces of other words, %d n-grams\n"+
		"%d components keep %.1f%% of the squared length of the texts\n"+
		"a vector has %d numbers\n",
		r.Texts, r.Blank, r.Cut, r.Encoder.MaxLength, r.Words, r.Pieces, r.Grams, len(r.Singular), 100*r.Captured, r.Encoder.Dim)
	return err
}
