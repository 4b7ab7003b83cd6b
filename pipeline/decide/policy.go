package decide

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"

	"pipe/costs"
	"pipe/costs/identity"
	"pipe/featurize"
	"pipe/internal/storage"
	"pipe/models/policy"
	"pipe/onnx"
	"pipe/onnx/ort"
	"pipe/onnx/rewrite"
	"pipe/pipeline/stage"
)

// PolicyFile is a policy file and the encoder that was merged in front of the policy, if there is one.
type PolicyFile struct {
	Info  *policy.Info
	About *featurize.EncoderInfo // of the encoder in front; nil: there is none

	path    string
	model   *onnx.Model // features to decisions
	encoder *onnx.Model // texts or images to features; nil: none is in front
}

// ReadPolicy reads a policy file. A file that is not a policy, or whose metadata is contradictory, is a
// *costs.DataError: for the user it is an input like any other.
func ReadPolicy(ctx context.Context, at storage.Location) (*PolicyFile, error) {
	local, err := at.Fetch(ctx)
	if err != nil {
		return nil, err
	}
	m, info, err := policy.Read(local)
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, err
	}
	return newPolicyFile(at.String(), m, info, err)
}

// ParsePolicy is ReadPolicy for the content of a file that has been read; path is only for errors. A file that keeps data
// in other files is an error.
func ParsePolicy(path string, content []byte) (*PolicyFile, error) {
	m, err := onnx.Parse(content)
	if err != nil {
		return newPolicyFile(path, nil, nil, fmt.Errorf("read policy %q: %w", path, err))
	}
	info, err := policy.Parse(m)
	others, unnamed := m.ExternalFiles()
	switch {
	case err != nil:
	case unnamed != nil:
		err = unnamed
	case len(others) > 0:
		err = fmt.Errorf("keeps data in another file, %q: only a policy that is one file can be read from memory", others[0])
	default:
		err = m.Check()
	}
	if err != nil {
		err = fmt.Errorf("read policy %q: %w", path, err)
	}
	return newPolicyFile(path, m, info, err)
}

// newPolicyFile checks what was read, or passes on why it could not be.
func newPolicyFile(path string, m *onnx.Model, info *policy.Info, err error) (*PolicyFile, error) {
	if err == nil && !costs.UsableLambda(info.Lambda) {
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

// The names that pipe convert gives to the two parts of a merged file.
const encoderPrefix, policyPrefix = "encoder/", "policy/"

// encoderKeys is the prefix of an encoder's metadata, without the common prefix.
const encoderKeys = "encoder."

// split separates encoder and policy of a merged file and checks that they match.
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
		about.Dim = f.Info.Dim // an export may lack its width
	}
	f.About = &about
	if err := checkEncoder(f.Info, about); err != nil {
		return fmt.Errorf("the encoder in front is not the policy's: %w", err)
	}
	return nil
}

// Open opens the policy for decisions on features. If the runtime refuses the graph, the error is about bad data, as
// for a file that cannot be read.
func (f *PolicyFile) Open(rt *ort.Runtime) (*policy.Decider, error) {
	d, err := policy.NewDecider(rt, f.model)
	if errors.Is(err, ort.ErrNoRuntime) {
		return nil, err
	}
	if err != nil {
		return nil, &costs.DataError{Err: fmt.Errorf("open policy %q: %w", f.path, err)}
	}
	return d, nil
}

// Freeze makes a policy with fixed prices of an any-price policy. The errors are *stage.OptionError.
func (f *PolicyFile) Freeze(c policy.PriceChange) (*PolicyFile, *UsedPrices, error) {
	m, at, err := policy.Freeze(f.model, c)
	if err == nil {
		fixed := &PolicyFile{path: f.path, model: m}
		fixed.Info, err = policy.Parse(m)
		if err == nil {
			return fixed, NewUsedPrices(f.Info.Actions, at, c.Without), nil
		}
	}
	return nil, nil, priceError(f.path, f.Info.Lambda, err)
}

// Model is the policy's graph with its metadata, without an encoder in front. Do not change it.
func (f *PolicyFile) Model() *onnx.Model { return f.model }

// price applies a change to the prices of the policy. One that does not fit it is an *stage.OptionError.
func (f *PolicyFile) price(c policy.PriceChange) (*policy.Prices, error) {
	p, err := f.Info.Price(c)
	if err != nil {
		return nil, priceError(f.path, f.Info.Lambda, err)
	}
	return p, nil
}

// priceError says why the file at path, of a policy or a cascade, does not take a change of its prices: an *stage.OptionError.
func priceError(path string, lambda float64, err error) error {
	if errors.Is(err, policy.ErrFixedPrices) {
		err = fmt.Errorf("%w, those of lambda %g: pipe train --any-price makes policies whose lambda and fees can be set", err, lambda)
	}
	return &stage.OptionError{Err: fmt.Errorf("policy %q: %w", path, err)}
}

// Digest identifies the policy, independent of its file name and of an encoder in front; see policy.Digest.
func (f *PolicyFile) Digest() (string, error) { return policy.Digest(f.model, f.Info) }

// Behind puts the policy behind the encoder that made its features. The result is the policy, including its metadata,
// with other inputs. It is an *stage.OptionError if the encoder makes other features, or if the policy already has an
// encoder in front.
func (f *PolicyFile) Behind(encoder *onnx.Model, about featurize.EncoderInfo) (*onnx.Model, error) {
	if f.encoder != nil {
		return nil, &stage.OptionError{Err: fmt.Errorf("policy %q: has an encoder in front already", f.path)}
	}
	if f.Info.Prices != nil {
		return nil, &stage.OptionError{Err: fmt.Errorf("policy %q: its prices are inputs, which nothing would feed behind an encoder: fix them, such as by pipe convert %s --lambda %g --out fixed.onnx", f.path, f.path, f.Info.Lambda)}
	}
	if about.Dim == 0 {
		about.Dim = f.Info.Dim // an export may lack its width
	}
	if err := f.fits(about); err != nil {
		return nil, err
	}
	o := rewrite.MergeOptions{Name: "encoder and policy", FirstPrefix: encoderPrefix, SecondPrefix: policyPrefix}
	return rewrite.Merge(encoder, f.model, map[string]string{encoder.Outputs()[0].Name: policy.FeaturesInput}, o)
}

// fits returns an *stage.OptionError if the encoder does not make the policy's features.
func (f *PolicyFile) fits(e featurize.EncoderInfo) error {
	if err := checkEncoder(f.Info, e); err != nil {
		return &stage.OptionError{Err: fmt.Errorf("policy %q: %w", f.path, err)}
	}
	return nil
}

// checkEncoder compares a policy with an encoder: the number of features, and the digest if the policy records one.
func checkEncoder(info *policy.Info, e featurize.EncoderInfo) error {
	if err := identity.CheckEncoder(info.Actions, e); err != nil {
		return err
	}
	if e.Dim != info.Dim {
		return fmt.Errorf("takes %d features, the encoder makes %d", info.Dim, e.Dim)
	}
	return nil
}
