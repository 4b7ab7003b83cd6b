package decide

import (
	"crypto/sha256"
	"encoding/hex"

	"pipe/models/cascade"
	"pipe/models/policy"
	"pipe/onnx"
)

// describeCascade describes the cascade file that holds the bytes of m. If m is not a cascade, the error is that of cascade.Parse.
func describeCascade(m *onnx.Model, file []byte) (*Description, error) {
	info, err := cascade.Parse(m)
	if err != nil {
		return nil, err
	}
	sum, a := sha256.Sum256(file), info.Actions
	d := &Description{
		Format: descriptionFormat, Kind: cascade.Kind, SHA256: hex.EncodeToString(sum[:]), Bytes: len(file),
		Method: info.Info["method"], Recipe: info.Info["recipe"], Lambda: info.Lambda, Experts: a.Experts, Advice: a.Advice, Unavailable: unavailable(a),
		Facts: info.Facts, Stages: info.Stages, Dim: info.Dim, Source: a.Features.Name, Names: info.Names,
		Inputs: describedValues(m.Inputs()), Outputs: describedValues(m.Outputs()),
	}
	d.takePrices(info.Prices, info.Base())
	if err := d.takeFrozen(info.Info); err != nil {
		return nil, err
	}
	if d.Guarantee = info.Guarantee; d.Guarantee != nil {
		d.Promise = d.Guarantee.Promise()
	}
	d.Digest, err = policy.Digest(m, &policy.Info{Actions: a})
	return d, err
}
