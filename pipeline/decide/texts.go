package decide

import (
	"context"

	"pipe/featurize"
	"pipe/onnx"
	"pipe/onnx/ort"
)

// textRows encodes texts.
type textRows struct {
	encoder *featurize.TextEncoder
	column  string
}

func openTextRows(rt *ort.Runtime, o StreamOptions, inside *onnx.Model) (rowEncoder, error) {
	e, err := openTextEncoder(rt, o, inside)
	if err != nil {
		return nil, err
	}
	return &textRows{encoder: e, column: o.Text}, nil
}

// openTextEncoder opens the model inside of the policy, if there is one, else the encoder that the options name.
func openTextEncoder(rt *ort.Runtime, o StreamOptions, inside *onnx.Model) (*featurize.TextEncoder, error) {
	if inside != nil {
		m, err := featurize.ParseTextModel(inside)
		if err != nil {
			return nil, err
		}
		return m.Open(rt, o.Workers)
	}
	settings := featurize.DefaultTextEncoderOptions()
	settings.Workers = o.Workers
	return featurize.OpenTextEncoder(rt, o.Encoder, settings)
}

func (t *textRows) info() featurize.EncoderInfo {
	e := t.encoder
	return featurize.EncoderInfo{Input: featurize.InputText, Name: e.Name(), Dim: e.Dim(), Digest: e.Digest()}
}

func (t *textRows) field() string { return t.column }
func (t *textRows) batch() int    { return mostRows }
func (t *textRows) close()        { _ = t.encoder.Close() } // nothing was written

func (t *textRows) encode(ctx context.Context, dst []float32, rows []encodedRow) error {
	texts := make([]string, len(rows))
	for i, r := range rows {
		texts[i] = r.value
	}
	return t.encoder.Encode(ctx, dst, texts)
}
