package oip

import (
	"errors"
	"strings"

	"pipe/onnx"
	"pipe/serve/policies"
)

// currentVersion is the only numbered version of a model, for clients of Triton that use version numbers. It is the policy
// that is served now. Responses have the digest of the policy as version.
const currentVersion = "1"

// The values for ONNX models in the metadata of Triton.
const (
	platform = "onnxruntime_onnx"
	backend  = "onnxruntime"
)

// extensions are the supported extensions of the protocol.
var extensions = []string{"binary_tensor_data", "model_configuration", "model_repository", "statistics"}

// acquire leases the policy with a name and a version. The version is empty, "1", or at least the first 8 characters of the
// digest. The caller releases the policy.
func (a *API) acquire(name, version string) (*policies.Policy, error) {
	if name == "" {
		return nil, problemf(unknown, "no model is named; known are %s", strings.Join(a.policies.Names(), ", "))
	}
	if version != "" && version != currentVersion {
		name += "@" + version
	}
	p, err := a.policies.Acquire(name)
	var missing *policies.UnknownError
	switch {
	case errors.As(err, &missing):
		return nil, problemf(unknown, "%v", err)
	case err != nil:
		return nil, problemf(unavailable, "%v", err)
	}
	return p, nil
}

// sizes returns the sizes of a shape, -1 for an open one.
func sizes(shape onnx.Shape) []int64 {
	out := make([]int64, len(shape))
	for i, d := range shape {
		out[i] = -1
		if d.Known() {
			out[i] = d.Size
		}
	}
	return out
}

// batches reports whether the first axis of every input and output is open. It is then the number of rows.
func batches(g *policies.Graph) bool {
	for _, list := range [][]onnx.IO{g.Inputs(), g.Outputs()} {
		for _, v := range list {
			if len(v.Shape) == 0 || v.Shape[0].Known() {
				return false
			}
		}
	}
	return true
}

// modelInfo describes a model.
type modelInfo struct {
	name            string
	versions        []string
	inputs, outputs []tensorInfo
	batch           int // most rows of a request; 0: the first axis is not the number of rows
}

// tensorInfo describes an input or output.
type tensorInfo struct {
	name, datatype string
	dtype          onnx.DType
	shape          []int64 // -1: any size
}

// dims returns the shape without the axis of rows, if there is one.
func (t tensorInfo) dims(batch int) []int64 {
	if batch > 0 {
		return t.shape[1:]
	}
	return t.shape
}

// metadata returns the description of a model.
func (a *API) metadata(name, version string) (*modelInfo, error) {
	p, err := a.acquire(name, version)
	if err != nil {
		return nil, err
	}
	defer p.Release()
	g := p.Graph()
	about := &modelInfo{
		name: p.Name, versions: []string{currentVersion, p.Digest},
		inputs: infoOf(g.Inputs()), outputs: infoOf(g.Outputs()),
	}
	if batches(g) {
		about.batch = a.settings.MaxRows
	}
	return about, nil
}

func infoOf(list []onnx.IO) []tensorInfo {
	out := make([]tensorInfo, len(list))
	for i, v := range list {
		out[i] = tensorInfo{v.Name, datatypeOf(v.DType), v.DType, sizes(v.Shape)}
	}
	return out
}

// statistics returns the counters of one model, or of all served models for an empty name.
func (a *API) statistics(name, version string) ([]*modelStats, error) {
	if name == "" {
		list := make([]*modelStats, 0)
		for _, name := range a.policies.Names() {
			list = append(list, a.stats.of(name))
		}
		return list, nil
	}
	p, err := a.acquire(name, version)
	if err != nil {
		return nil, err
	}
	defer p.Release()
	return []*modelStats{a.stats.of(p.Name)}, nil
}
