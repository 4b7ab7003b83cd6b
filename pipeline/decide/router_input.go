package decide

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"pipe/featurize"
	"pipe/internal/storage"
	"pipe/models/policy"
	"pipe/pipeline/stage"
)

// The inputs of routers.
const (
	InputFeatures = "features"
	InputRow      = "row" // raw columns of a table
	InputText     = featurize.InputText
	InputImage    = featurize.InputImage
)

// RowError is an error about one row of a batch; rows are numbered from 0.
type RowError = policy.RowError

// InputError means that a router was given another kind of input than its policy takes.
type InputError struct {
	Takes string // what Router.Input says
	Given string
}

func (e *InputError) Error() string {
	return fmt.Sprintf("decide: the policy takes %s, not %s", inputWords(e.Takes), inputWords(e.Given))
}

func inputWords(input string) string {
	switch input {
	case InputFeatures:
		return input
	case InputRow:
		return "raw rows"
	}
	return input + "s"
}

// input is the kind of input of the encoder of that name; the name is empty if the policy needs no encoder.
func (f *PolicyFile) input(ctx context.Context, encoder string) (string, error) {
	switch {
	case f.encoder != nil && encoder != "":
		return "", &stage.OptionError{Err: fmt.Errorf("policy %q: has its encoder in front: another one cannot be used", f.path)}
	case f.encoder != nil:
		return f.About.Input, nil
	case encoder == "":
		return InputFeatures, nil
	case isJSON(ctx, storage.File(encoder)):
		return InputRow, nil
	}
	inputs, err := featurize.EncoderInputs(encoder)
	if err != nil {
		return "", err
	}
	kind, _, _ := strings.Cut(f.Info.Actions.Features.Name, " ")
	if slices.Contains(inputs, kind) {
		return kind, nil
	}
	return inputs[0], nil
}

// fetchEncoder returns the name of an encoder on this machine: of a URL that of a copy. Other names stay.
func fetchEncoder(ctx context.Context, name string) (string, error) {
	if !storage.IsURL(name) {
		return name, nil
	}
	at, err := storage.Parse(name)
	switch {
	case err != nil:
		return "", err
	case isJSON(ctx, at):
		return at.Fetch(ctx)
	}
	return at.FetchBeside(ctx)
}

// isJSON reports whether path is a file that starts with a JSON object: the encoder of a table, not a model.
func isJSON(ctx context.Context, path storage.Location) bool {
	info, err := path.Stat(ctx)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := path.Open(ctx)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 1)
	_, err = io.ReadFull(f, head)
	return err == nil && head[0] == '{'
}

// Text decides on one text.
func (r *Router) Text(ctx context.Context, text string) (Decision, error) {
	return one(r.Texts(ctx, []string{text}))
}

// Texts decides on several texts. A text that is not UTF-8 is a *RowError. For a router with another input, the error is
// an *InputError.
func (r *Router) Texts(ctx context.Context, texts []string) ([]Decision, error) {
	features, err := r.EncodeTexts(ctx, texts)
	if err != nil {
		return nil, err
	}
	return r.decide(ctx, features, len(texts))
}

// Image decides on one image, given the bytes of its file.
func (r *Router) Image(ctx context.Context, file []byte) (Decision, error) {
	return one(r.Images(ctx, [][]byte{file}))
}

// Images decides on several images, given the bytes of their files. An image that cannot be decoded or exceeds
// pixel.DefaultLimits is a *RowError. For a router with another input, the error is an *InputError.
func (r *Router) Images(ctx context.Context, files [][]byte) ([]Decision, error) {
	features, err := r.EncodeImages(ctx, files)
	if err != nil {
		return nil, err
	}
	return r.decide(ctx, features, len(files))
}

// Row decides on the raw columns of one row, by name; see Rows.
func (r *Router) Row(ctx context.Context, columns map[string]string) (Decision, error) {
	return one(r.Rows(ctx, []map[string]string{columns}))
}

// Rows decides on the raw columns of several rows, as they were before pipe featurize. Columns that a row lacks count
// as missing, unknown categories as rare. Columns that the policy does not use (see Columns) are ignored. A row with
// none of the policy's columns, a value that must be a number and is not, or a value that is not UTF-8, is a *RowError.
// For a router with another input, the error is an *InputError.
func (r *Router) Rows(ctx context.Context, rows []map[string]string) ([]Decision, error) {
	features, err := r.EncodeRows(ctx, rows)
	if err != nil {
		return nil, err
	}
	return r.decide(ctx, features, len(rows))
}

// EncodeRows computes the policy's features of raw rows, n x Dim. The errors are those of Rows.
func (r *Router) EncodeRows(ctx context.Context, rows []map[string]string) ([]float32, error) {
	return r.features(ctx, InputRow, len(rows), func(dst []float32) error {
		dim, values := r.file.Info.Dim, make([]float32, r.table.width())
		for n, row := range rows {
			if err := r.table.encodeNamed(dst[n*dim:(n+1)*dim], values, row); err != nil {
				return &RowError{Row: n, Err: err}
			}
		}
		return nil
	})
}

// Encode computes the policy's features of values, n x Dim: texts, or the paths of images relative to a folder, as Input
// says. The errors are those of Texts and Images.
func (r *Router) Encode(ctx context.Context, folder storage.Location, values []string) ([]float32, error) {
	if err := r.ready(); err != nil {
		return nil, err
	}
	if r.vectors == nil {
		return nil, &InputError{Takes: r.input, Given: "value"}
	}
	encode, dim := r.vectors.field(folder), r.file.Info.Dim
	return r.features(ctx, r.input, len(values), func(dst []float32) error {
		most := cmp.Or(r.vectors.most(), mostRows)
		for first := 0; first < len(values); first += most {
			part := values[first:min(len(values), first+most)]
			err := checkTexts(part)
			if err == nil {
				err = encode(ctx, dst[first*dim:(first+len(part))*dim], part)
			}
			if row, ok := errors.AsType[*RowError](err); ok {
				return &RowError{Row: first + row.Row, Err: row.Err}
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// checkTexts returns a *RowError for the first value that is not UTF-8.
func checkTexts(values []string) error {
	for n, text := range values {
		if !utf8.ValidString(text) {
			return &RowError{Row: n, Err: errNotText}
		}
	}
	return nil
}

// features are those of n rows of an input, which encode writes.
func (r *Router) features(ctx context.Context, input string, n int, encode func(dst []float32) error) ([]float32, error) {
	if err := r.takes(input); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	features := make([]float32, n*r.file.Info.Dim)
	if n > 0 {
		if err := encode(features); err != nil {
			return nil, fmt.Errorf("decide: %w", err)
		}
	}
	return features, nil
}

// takes returns why the router does not take a kind of input.
func (r *Router) takes(input string) error {
	if err := r.ready(); err != nil {
		return err
	}
	if r.input != input {
		return &InputError{Takes: r.input, Given: input}
	}
	return nil
}
