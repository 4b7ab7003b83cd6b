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
	"pipe/onnx/rewrite"
	"pipe/pipeline/stage"
)

// PolicyFile is a policy as it was read, and the encoder that was merged in front of it, if there is one.
type PolicyFile struct {
	Info  *policy.Info
	About *featurize.EncoderInfo // of the encoder in front; nil: there is none

	path    string
	model   *onnx.Model // features to decisions
	encoder *onnx.Model // texts or images to features; nil: none is in front
}

// ReadPolicy reads a policy file. A file that is there but is no policy, or whose metadata contradict each other, is a
// *costs.DataError: to the user it is an input like any other.
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
	f := &PolicyFile{path: path, Info: info, model: m}
	if info.Encoded {
		if err := f.split(); err != nil {
			return nil, &costs.DataError{Err: fmt.Errorf("read policy %q: %w", path, err)}
		}
	}
	return f, nil
}

// The names that pipe convert gives to the two halves of a merged file.
const encoderPrefix, policyPrefix = "encoder/", "policy/"

// encoderKeys begin the metadata of an encoder, the common prefix left out.
const encoderKeys = "encoder."

// split takes encoder and policy of a merged file apart, and holds one against the other.
func (f *PolicyFile) split() error {
	about, _, err := featurize.ParseEncoderInfo(f.model.Metadata())
	if err != nil {
		return err
	}
	merged, vector := f.model, about.Vector()
	f.encoder, f.model, err = rewrite.Split(merged, rewrite.SplitOptions{
		At: encoderPrefix + vector, Output: vector,
		Input:       onnx.IO{Name: policy.FeaturesInput, DType: onnx.Float32, Shape: onnx.Shape{onnx.Sym("batch"), onnx.Fix(int64(f.Info.Dim))}},
		FirstPrefix: encoderPrefix, SecondPrefix: policyPrefix,
	})
	if err != nil {
		return err
	}
	own := merged.Metadata()
	maps.DeleteFunc(own, func(key, _ string) bool { return strings.HasPrefix(key, "pipe."+encoderKeys) })
	f.model.SetMetadata(own)
	if f.Info, err = policy.Parse(f.model); err != nil {
		return err
	}
	if about.Dim == 0 {
		about.Dim = f.Info.Dim // an export need not state its width
	}
	f.About = &about
	if err := checkEncoder(f.Info, about); err != nil {
		return fmt.Errorf("the encoder in front is not the policy's: %w", err)
	}
	return nil
}

// Open opens the policy for decisions on features. A graph that the runtime refuses is bad data, like a file that cannot
// be read.
func (f *PolicyFile) Open(rt *ort.Runtime) (*policy.Decider, error) {
	d, err := policy.NewDecider(rt, f.model)
	if err != nil {
		return nil, &costs.DataError{Err: fmt.Errorf("open policy %q: %w", f.path, err)}
	}
	return d, nil
}

// Digest identifies the policy, whatever its file is called and whether an encoder is in front; see policy.Digest.
func (f *PolicyFile) Digest() (string, error) { return policy.Digest(f.model, f.Info) }

// Behind puts the policy behind an encoder that made its features. The result is the policy, metadata included, with other
// inputs. An encoder that made other features, and a policy that has one in front already, are an *stage.OptionError.
func (f *PolicyFile) Behind(encoder *onnx.Model, about featurize.EncoderInfo) (*onnx.Model, error) {
	if f.encoder != nil {
		return nil, &stage.OptionError{Err: fmt.Errorf("policy %q: has an encoder in front already", f.path)}
	}
	if about.Dim == 0 {
		about.Dim = f.Info.Dim // an export need not state its width
	}
	if err := f.fits(about); err != nil {
		return nil, err
	}
	o := rewrite.MergeOptions{Name: "encoder and policy", FirstPrefix: encoderPrefix, SecondPrefix: policyPrefix}
	return rewrite.Merge(encoder, f.model, map[string]string{encoder.Outputs()[0].Name: policy.FeaturesInput}, o)
}

// fits is an *stage.OptionError where an encoder does not make the policy's features.
func (f *PolicyFile) fits(e featurize.EncoderInfo) error {
	if err := checkEncoder(f.Info, e); err != nil {
		return &stage.OptionError{Err: fmt.Errorf("policy %q: %w", f.path, err)}
	}
	return nil
}

// checkEncoder holds a policy against an encoder: by the number of features, and by digest where the policy says what its
// features are.
func checkEncoder(info *policy.Info, e featurize.EncoderInfo) error {
	if err := identity.CheckEncoder(info.Actions, e); err != nil {
		return err
	}
	if e.Dim != info.Dim {
		return fmt.Errorf("takes %d features, the encoder makes %d", info.Dim, e.Dim)
	}
	return nil
}
