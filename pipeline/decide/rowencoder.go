package decide

import (
	"context"
	"fmt"
	"slices"

	"pipe/costs"
	"pipe/featurize"
	"pipe/onnx"
	"pipe/onnx/ort"
	"pipe/pipeline/stage"
)

// rowEncoder makes vectors of one field of raw rows: texts, or images that are named there.
type rowEncoder interface {
	info() featurize.EncoderInfo // input, name, dimension and digest
	field() string               // the column of CSV, or field of JSONL, that is read
	batch() int                  // most rows of a call
	// encode writes the vector of every row into dst, rows x dimension. What is wrong with a row is a *rowError.
	encode(ctx context.Context, dst []float32, rows []encodedRow) error
	close()
}

// encodedRow is a raw row of which one field goes through an encoder.
type encodedRow struct {
	id    string // "" if it has none
	value string // of the field
	line  int    // in the file, counted from 1
}

// rowError is what is wrong with one row of a batch.
type rowError struct {
	row int
	err error
}

func (e *rowError) Error() string { return e.err.Error() }
func (e *rowError) Unwrap() error { return e.err }

// openRowEncoder opens the encoder that the options name, or inside, the one in front of the policy, and notes in done
// what else takes part. An encoder of something else than the rows hold is an *stage.OptionError.
func openRowEncoder(rt *ort.Runtime, o StreamOptions, inside *onnx.Model, done *Summary) (e rowEncoder, err error) {
	if o.Image != "" {
		e, err = openImageRows(rt, o, inside, done)
	} else {
		e, err = openTextRows(rt, o, inside)
	}
	switch {
	case err == nil:
		return e, nil
	case inside != nil:
		return nil, &costs.DataError{Err: fmt.Errorf("policy %q: the encoder in front: %w", o.Policy, err)}
	}
	if reads, failed := featurize.EncoderInputs(o.Encoder); failed == nil && !slices.Contains(reads, o.input()) {
		err = &stage.OptionError{Err: fmt.Errorf("encoder %q reads %ss, the rows hold %ss", o.Encoder, reads[0], o.input())}
	}
	return nil, err
}
