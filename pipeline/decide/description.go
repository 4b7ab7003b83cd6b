package decide

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"pipe/costs"
	"pipe/featurize"
	"pipe/internal/atomicfile"
	"pipe/internal/storage"
	"pipe/internal/strictjson"
	"pipe/internal/textfile"
	"pipe/models/cascade"
	"pipe/models/policy"
	"pipe/onnx"
)

// Description is what a program has to know about a policy file. It is a JSON file beside the policy, for runtimes that
// cannot read the metadata of a model; see [DescriptionFile].
type Description struct {
	Format int    `json:"format"` // descriptionFormat
	Kind   string `json:"kind"`   // policy or cascade
	Digest string `json:"digest"` // of the policy, see policy.Digest
	SHA256 string `json:"sha256"` // of the bytes of the policy file, in hexadecimal
	Bytes  int    `json:"bytes"`  // of the policy file

	Method      string           `json:"method"`
	Recipe      string           `json:"recipe"`
	Decoder     policy.Decoder   `json:"decoder,omitempty"` // absent for cascades
	Lambda      float64          `json:"lambda"`            // of the training, or as it was fixed
	Experts     []costs.Expert   `json:"experts"`
	Advice      []costs.Advice   `json:"advice"`                // fees before lambda
	Unavailable []DescribedPair  `json:"unavailable,omitempty"` // pairs that do not exist
	Fixed       *DescribedPair   `json:"fixed,omitempty"`       // of a policy that always takes the same pair
	Prices      *DescribedPrices `json:"prices,omitempty"`      // of an any-price policy
	// Guarantee is what the output accepted promises, in numbers and in words; absent: the policy has none.
	Guarantee *policy.Guarantee `json:"guarantee,omitempty"`
	Promise   []string          `json:"promise,omitempty"`

	// Of a cascade: what it looks at in answers, in the order of its input, and how many pairs it may execute.
	Facts  []costs.Fact `json:"facts,omitempty"`
	Stages int          `json:"stages,omitempty"`

	// Of a file that was cut from an any-price policy, see the metadata of the same names.
	FrozenFrom string   `json:"frozen_from,omitempty"`
	Without    []string `json:"without,omitempty"`
	Unchecked  []string `json:"unchecked_prices,omitempty"`

	Dim     int              `json:"dim"` // width of the features
	Source  string           `json:"feature_source,omitempty"`
	Names   []string         `json:"feature_names,omitempty"`
	Inputs  []DescribedValue `json:"inputs"`
	Outputs []DescribedValue `json:"outputs"`

	// Of a policy with its encoder in front. Tokens and Tokenizer are those of texts.
	Encoder   *featurize.EncoderInfo `json:"encoder,omitempty"`
	Tokens    *featurize.TextFacts   `json:"tokens,omitempty"`
	Tokenizer json.RawMessage        `json:"tokenizer,omitempty"` // tokenizer.json
}

const (
	descriptionFormat = 1
	descriptionKind   = "policy"
)

// DescribedPair names an expert and an advice.
type DescribedPair struct {
	Expert string `json:"expert"`
	Advice string `json:"advice"`
}

// DescribedPrices are the prices that an any-price policy was checked on, and the values of its inputs that are the prices
// of the training, one row of each.
type DescribedPrices struct {
	policy.PriceRange
	Inputs struct {
		Experts   []float32 `json:"expert_fees"` // J
		Advice    []float32 `json:"advice_fees"` // K+1, multiplied by lambda
		Pairs     []float32 `json:"pair_fees"`   // J(K+1)
		Available []bool    `json:"available"`   // J(K+1)

		In     []float32 `json:"price_in,omitempty"` // J, of a million tokens, as the next two; absent in a policy without usage
		Cached []float32 `json:"price_cached,omitempty"`
		Out    []float32 `json:"price_out,omitempty"`
		Call   []float32 `json:"price_call,omitempty"`   // J
		Second []float32 `json:"price_second,omitempty"` // J
	} `json:"inputs"`
}

// DescribedValue is an input or an output of the graph. An axis of Shape is a size, or the name of a free one.
type DescribedValue struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Shape []any  `json:"shape"`
}

// DescriptionFile is the name of the description beside the policy file at path: ".json" is appended to the name.
func DescriptionFile(path storage.Location) storage.Location { return path.Suffix(".json") }

// describe describes the policy or cascade file that holds the bytes of m. If m is neither, the error is that of policy.Parse.
func describe(m *onnx.Model, file []byte) (*Description, error) {
	info, err := policy.Parse(m)
	if _, ok := errors.AsType[*policy.CascadeError](err); ok {
		return describeCascade(m, file)
	}
	if err != nil {
		return nil, err
	}
	f := &PolicyFile{model: m, Info: info}
	if info.Encoded {
		if err := f.split(); err != nil {
			return nil, err
		}
	}
	sum, a := sha256.Sum256(file), info.Actions
	d := &Description{
		Format: descriptionFormat, Kind: descriptionKind, SHA256: hex.EncodeToString(sum[:]), Bytes: len(file),
		Method: info.Method, Recipe: info.Recipe, Decoder: info.Decoder, Lambda: info.Lambda, Experts: a.Experts, Advice: a.Advice, Unavailable: unavailable(a),
		Dim: info.Dim, Source: a.Features.Name, Names: info.Names, Inputs: describedValues(m.Inputs()), Outputs: describedValues(m.Outputs()),
	}
	if info.Fixed >= 0 {
		fixed := describedPair(a, info.Fixed)
		d.Fixed = &fixed
	}
	if err := d.takeFrozen(info.Info); err != nil {
		return nil, err
	}
	d.takePrices(info.Prices, info.PriceAt(info.Actions, info.Lambda, nil))
	if d.Guarantee = info.Guarantee; d.Guarantee != nil {
		d.Promise = d.Guarantee.Promise()
	}
	if d.Digest, err = f.Digest(); err != nil {
		return nil, err
	}
	return d, d.takeEncoder(f, m.Metadata())
}

// unavailable are the pairs that do not exist.
func unavailable(a *costs.Actions) (out []DescribedPair) {
	for i, exists := range a.Mask() {
		if !exists {
			out = append(out, describedPair(a, i))
		}
	}
	return out
}

func describedPair(a *costs.Actions, action int) DescribedPair {
	j, k := a.Pair(action)
	return DescribedPair{Expert: a.Experts[j].Name, Advice: a.Advice[k].Name}
}

func describedValues(values []onnx.IO) []DescribedValue {
	out := make([]DescribedValue, len(values))
	for i, v := range values {
		out[i] = DescribedValue{Name: v.Name, Type: v.DType.String(), Shape: make([]any, len(v.Shape))}
		for axis, n := range v.Shape {
			if out[i].Shape[axis] = n.Name; n.Known() {
				out[i].Shape[axis] = n.Size
			}
		}
	}
	return out
}

// takeFrozen describes how a file was cut from an any-price one, by its metadata.
func (d *Description) takeFrozen(meta map[string]string) error {
	d.FrozenFrom = meta[policy.FrozenKey]
	for key, list := range map[string]*[]string{policy.WithoutKey: &d.Without, policy.UncheckedKey: &d.Unchecked} {
		if text, ok := meta[key]; ok {
			if err := json.Unmarshal([]byte(text), list); err != nil {
				return fmt.Errorf("metadata pipe.%s: %w", key, strictjson.Plain(err))
			}
		}
	}
	return nil
}

// takePrices describes the prices of an any-price policy or cascade: the range, which is nil for others, and those of the training.
func (d *Description) takePrices(r *policy.PriceRange, at *policy.Prices) {
	if r == nil {
		return
	}
	d.Prices = &DescribedPrices{PriceRange: *r}
	trained, in := at.Tensors(), &d.Prices.Inputs
	in.Experts, in.Advice = trained[policy.ExpertFeesInput].Float32s(), trained[policy.AdviceFeesInput].Float32s()
	in.Pairs, in.Available = trained[policy.PairFeesInput].Float32s(), trained[policy.AvailableInput].Bools()
	for q, to := range [costs.Quantities]*[]float32{&in.In, &in.Cached, &in.Out, &in.Call, &in.Second} {
		if prices, ok := trained[policy.UsagePriceInput(costs.Quantity(q))]; ok {
			*to = prices.Float32s()
		}
	}
}

// takeEncoder describes the encoder in front of the policy, if there is one.
func (d *Description) takeEncoder(f *PolicyFile, metadata map[string]string) error {
	d.Encoder = f.About
	if f.About == nil || f.About.Input != featurize.InputText {
		return nil
	}
	m, err := featurize.ParseTextModel(f.encoder)
	if err != nil {
		return err
	}
	facts := m.Facts()
	d.Tokens, d.Tokenizer = &facts, json.RawMessage(metadata["pipe."+encoderKeys+"tokenizer"])
	return nil
}

// WriteJSON writes the description with a line per value. Only the tokenizer, which is long, is one line.
func (d *Description) WriteJSON(w io.Writer) error {
	short := *d
	short.Tokenizer = nil
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(&short); err != nil {
		return err
	}
	if d.Tokenizer != nil {
		b.Truncate(b.Len() - len("\n}\n"))
		b.WriteString(",\n  \"tokenizer\": ")
		if err := json.Compact(&b, d.Tokenizer); err != nil {
			return err
		}
		b.WriteString("\n}\n")
	}
	_, err := w.Write(b.Bytes())
	return err
}

// WritePolicy writes the policy or cascade m to the file at path, and its description beside it. It returns the size of the policy
// file. Each of the two files is replaced whole, the description first, so that it is there when the policy appears.
func WritePolicy(ctx context.Context, path storage.Location, m *onnx.Model) (size int, err error) {
	b, err := m.Marshal()
	if err != nil {
		return 0, fmt.Errorf("write policy %q: %w", path, err)
	}
	d, err := describe(m, b)
	if err != nil {
		return 0, fmt.Errorf("write policy %q: %w", path, err)
	}
	if err := atomicfile.WriteAt(ctx, DescriptionFile(path), d.WriteJSON); err != nil {
		return 0, fmt.Errorf("write description of policy %q: %w", path, err)
	}
	return len(b), atomicfile.WriteAt(ctx, path, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// RemoveDescription removes the description of a policy that was at path, for what replaces or removes the policy. A file
// that is not a description stays.
func RemoveDescription(ctx context.Context, path storage.Location) error {
	_, err := ReadDescription(ctx, DescriptionFile(path))
	var other *costs.DataError
	switch {
	case errors.As(err, &other), errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	return DescriptionFile(path).Remove(ctx)
}

// ReadDescription reads a description. A file that is none is a *costs.DataError.
func ReadDescription(ctx context.Context, path storage.Location) (*Description, error) {
	b, err := textfile.ReadFileAt(ctx, path, textfile.MaxWhole)
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, err
	}
	d := &Description{}
	if err == nil {
		err = strictjson.Unmarshal(b, d)
	}
	switch {
	case err != nil:
	case d.Kind != descriptionKind && d.Kind != cascade.Kind || d.SHA256 == "":
		err = errors.New("is not the description of a policy")
	case d.Format > descriptionFormat:
		err = fmt.Errorf("format %d is newer than %d, the newest this version reads", d.Format, descriptionFormat)
	}
	if err != nil {
		return nil, &costs.DataError{File: path.String(), Err: err}
	}
	return d, nil
}

// Describes reports whether the description is that of the policy file at path, by the digest of its bytes.
func (d *Description) Describes(ctx context.Context, path storage.Location) (bool, error) {
	f, err := path.Open(ctx)
	if err != nil {
		return false, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return false, err
	}
	return hex.EncodeToString(h.Sum(nil)) == d.SHA256, nil
}
