package decide

import (
	"pipe/featurize"
	"pipe/onnx"
	"pipe/onnx/ort"
)

// openTexts opens the encoder inside the policy, if there is one, else the encoder of that name.
func openTexts(rt *ort.Runtime, inside *onnx.Model, name string, workers int) (*featurize.TextEncoder, error) {
	if inside != nil {
		m, err := featurize.ParseTextModel(inside)
		if err != nil {
			return nil, err
		}
		return m.Open(rt, workers)
	}
	o := featurize.DefaultTextEncoderOptions()
	o.Workers = workers
	return featurize.OpenTextEncoder(rt, name, o)
}
