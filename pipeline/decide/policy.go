package decide

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"

	"pipe/costs"
	"pipe/costs/identity"
	"pipe/featurize"
	"pipe/models/policy"
	"pipe/onnx"
	"pipe/onnx/ort"
	"pipe/pipeline/stage"
)

// PolicyFile is a policy as it was read, and the encoder that was merged in front of it, if there is one.
type PolicyFile struct {
	path    string
	Info    *policy.Info
	Policy  *onnx.Model            // features to decisions
	Encoder *onnx.Model            // texts or images to features; nil: none is in front
	About   *featurize.EncoderInfo // of the encoder
}

// ReadPolicy reads a policy file for whoever needs one. A file that is there but is no policy, or says of itself what is
// not so, is a *costs.DataError, since to the user it is an input like any other.
func ReadPolicy(path string) (*PolicyFile, error) {
	m, info, err := policy.Read(path)
	var onDisk *fs.PathError
	switch {
	case errors.As(err, &onDisk):
		return nil, err
	case err == nil && !costs.UsableLambda(info.Lambda):
		err = fmt.Errorf("read policy %q: metadata pipe.lambda is %g, not a number from 0 to %g", path, info.Lambda, costs.MaxLambda)
	}
	if err != nil {
		return nil, &costs.DataError{Err: err}
	}
	f := &PolicyFile{path: path, Info: info, Policy: m}
	if info.Encoded {
		if err := f.split(); err != nil {
			return nil, &costs.DataError{Err: fmt.Errorf("read policy %q: %w", path, err)}
		}
	}
	return f, nil
}

// The names that pipe convert gives to the two halves of a merged file.
const encoderPrefix, policyPrefix = "encoder/", "policy/"

// MergeEncoder puts an encoder before a policy.
func MergeEncoder(encoder, decider *onnx.Model) (*onnx.Model, error) {
	o := onnx.MergeOptions{Name: "encoder and policy", FirstPrefix: encoderPrefix, SecondPrefix: policyPrefix}
	return onnx.Merge(encoder, decider, map[string]string{encoder.Outputs()[0].Name: policy.FeaturesInput}, o)
}

// encoderKeys begin the metadata of an encoder, the common prefix left out.
const encoderKeys = "encoder."

// split takes encoder and policy of a merged file apart, and holds one against the other.
func (f *PolicyFile) split() error {
	about, _, err := featurize.ParseEncoderInfo(f.Policy.Metadata())
	if err != nil {
		return err
	}
	merged, vector := f.Policy, about.Vector()
	f.Encoder, f.Policy, err = onnx.Split(merged, onnx.SplitOptions{
		At: encoderPrefix + vector, Output: vector,
		Input:       onnx.IO{Name: policy.FeaturesInput, DType: onnx.Float32, Shape: onnx.Shape{onnx.Sym("batch"), onnx.Fix(int64(f.Info.Dim))}},
		FirstPrefix: encoderPrefix, SecondPrefix: policyPrefix,
	})
	if err != nil {
		return err
	}
	own := merged.Metadata()
	maps.DeleteFunc(own, func(key, _ string) bool { return strings.HasPrefix(key, "pipe."+encoderKeys) })
	f.Policy.SetMetadata(own)
	if f.Info, err = policy.Parse(f.Policy); err != nil {
		return err
	}
	if about.Dim == 0 {
		about.Dim = f.Info.Dim // an export need not state its width
	}
	f.About = &about
	if err := FitsEncoder(f.Info, about); err != nil {
		return fmt.Errorf("the encoder in front is not the policy's: %w", err)
	}
	return nil
}

// Open opens the policy for decisions on features. A graph that the runtime refuses is bad data, like a file that cannot
// be read.
func (f *PolicyFile) Open(rt *ort.Runtime) (*policy.Decider, error) {
	d, err := policy.NewDecider(rt, f.Policy)
	if err != nil {
		return nil, &costs.DataError{Err: fmt.Errorf("open policy %q: %w", f.path, err)}
	}
	return d, nil
}

// checkRaw holds the options about raw rows against what the policy takes.
func (f *PolicyFile) checkRaw(o StreamOptions) error {
	bad := func(format string, args ...any) error {
		return &stage.OptionError{Err: fmt.Errorf("policy %q: %w", f.path, fmt.Errorf(format, args...))}
	}
	switch {
	case f.Encoder == nil && o.encoded() && o.Encoder == "":
		return bad("has no encoder in front: texts and images need an encoder (--encoder)")
	case f.Encoder == nil:
		return nil
	case o.Encoder != "":
		return bad("has its encoder in front: no other is taken (leave out --encoder)")
	case !o.encoded():
		return bad("has an encoder in front and reads %ss: name the column or field that holds them (--%s)", f.About.Input, f.About.Input)
	case f.About.Input != o.input():
		return bad("has an encoder of %ss in front, the rows hold %ss", f.About.Input, o.input())
	}
	return nil
}

// FitsEncoder holds a policy against an encoder: by the number of features, and by digest where the policy says what its
// features are.
func FitsEncoder(info *policy.Info, e featurize.EncoderInfo) error {
	if err := identity.CheckEncoder(info.Actions, e); err != nil {
		return err
	}
	if e.Dim != info.Dim {
		return fmt.Errorf("takes %d features, the encoder makes %d", info.Dim, e.Dim)
	}
	return nil
}
