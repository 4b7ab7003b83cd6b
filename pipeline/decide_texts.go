package pipeline

import (
	"context"

	"pipe/featurize"
	"pipe/onnx/ort"
)

// textRows encodes texts.
type textRows struct {
	encoder *featurize.TextEncoder
	column  string
}

func openTextRows(rt *ort.Runtime, o DecideOptions) (rowEncoder, error) {
	settings := featurize.DefaultTextEncoderOptions()
	settings.Workers = o.Workers
	e, err := featurize.OpenTextEncoder(rt, o.Encoder, settings)
	if err != nil {
		return nil, err
	}
	return &textRows{encoder: e, column: o.Text}, nil
}

func (t *textRows) info() featurize.EncoderInfo {
	e := t.encoder
	return featurize.EncoderInfo{Input: featurize.InputText, Name: e.Name(), Dim: e.Dim(), Digest: e.Digest()}
}

func (t *textRows) field() string { return t.column }
func (t *textRows) batch() int    { return textBatch }
func (t *textRows) close()        { _ = t.encoder.Close() } // nothing was written

func (t *textRows) encode(ctx context.Context, dst []float32, rows []encodedRow) error {
	texts := make([]string, len(rows))
	for i, r := range rows {
		texts[i] = r.value
	}
	return t.encoder.Encode(ctx, dst, texts)
}
