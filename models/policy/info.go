package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"pipe/costs"
	"pipe/internal/strictjson"
	"pipe/onnx"
)

// newestFormat is the newest version of the policy file that this package reads. A policy with a guarantee has version 4, another
// with usage version 3, another any-price policy version 2. All others are version 1, which earlier releases read too.
const newestFormat = formatGuarantee

const policyKind = "policy"

// reservedKeys are the metadata keys, without prefix, that only Export writes.
var reservedKeys = map[string]bool{
	"format": true, "kind": true, "actions": true, "lambda": true, "tau": true, "method": true, "recipe": true,
	"decoder": true, "dim": true, "feature_source": true, "members": true, "fixed": true, PricesKey: true, UsageKey: true,
	RiskKey: true,
}

// Info is the metadata of a policy file.
type Info struct {
	Format  int            // version of the file
	Actions *costs.Actions // names and fees that it was trained with
	Method  string         // such as "ours" or "l2d"
	Recipe  string         // such as "paper" or "auto"
	Lambda  float64        // multiplier of the advice fees that it was trained for
	Tau     float64        // of the surrogate
	Decoder Decoder        // how scores are made
	Dim     int            // width of the features
	Members int            // networks averaged
	Fixed   int            // the action of a fixed policy, else -1
	Guard   *Guard         // result of the guard of recipe auto; nil if not in the file
	Prices  *PriceRange    // of an any-price policy, whose fees are inputs; nil: fees are those of Actions at Lambda
	Usage   *UsageInfo     // of a policy that makes fees of what calls use; nil: measured fees are part of the expected losses
	Names   []string       // names of the features; nil if not in the file
	// Guarantee is what the output accepted promises; nil: the file does not have it.
	Guarantee *Guarantee
	Encoded   bool              // an encoder is in front: the inputs are the encoder's, and Info describes it
	Info      map[string]string // everything else, as Policy.Info
}

// Keys of Policy.Info that recipes set.
const (
	NamesKey    = "feature_names"   // names of the features, a JSON list
	GuardKey    = "guard"           // a [Guard] in JSON
	SettingsKey = "settings"        // of the training, a JSON object
	SeedKey     = "seed"            // of the training; policies that average seeds have none
	OriginKey   = "training_digest" // digest of the tensor that was trained on
	TableKey    = "training_table"  // digest of the tensor before a price file replaced its measured fees; absent without one
	UntilKey    = "training_until"  // time of its latest training row, in RFC 3339; absent without times
	WarmKey     = "warm"            // how an older policy compared, a JSON object
)

// encoderKey is present if an encoder was merged in front.
const encoderKey = "encoder.format"

// metadata returns the key-value pairs of the policy file.
func (p *Policy) metadata() map[string]string {
	m := make(map[string]string, len(p.Info)+len(reservedKeys))
	for key, value := range p.Info {
		m[keyPrefix+key] = value
	}
	set := func(key, value string) { m[keyPrefix+key] = value }
	set("format", strconv.Itoa(p.format()))
	if p.Estimate != nil && p.Estimate.Prices != nil {
		set(PricesKey, p.Estimate.Prices.JSON())
	}
	if p.Estimate != nil && p.Estimate.Usage != nil {
		set(UsageKey, p.usageJSON())
	}
	set("kind", policyKind)
	set("actions", string(p.Actions.JSON()))
	set("lambda", formatFloat(p.Lambda))
	set("tau", formatFloat(p.Tau))
	set("method", p.Method)
	set("recipe", p.Recipe)
	set("decoder", string(p.Decoder))
	set("dim", strconv.Itoa(p.FeatureDim()))
	set("feature_source", p.Actions.Features.Name)
	set("members", strconv.Itoa(len(p.Members)))
	if p.Decoder == DecoderFixed {
		set("fixed", strconv.Itoa(p.Fixed))
	}
	return m
}

// format is the oldest version of the file that can say what the policy is.
func (p *Policy) format() int {
	switch e := p.Estimate; {
	case e != nil && e.Usage != nil:
		return 3
	case e != nil && e.Prices != nil:
		return 2
	}
	return 1
}

func formatFloat(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// ErrNotPolicy is wrapped by the error for an ONNX model that is not a policy.
var ErrNotPolicy = errors.New("not a policy")

// Read reads a policy file and its metadata. The error names the first reason why the file is not a usable policy: it
// is not ONNX, it is another model ([ErrNotPolicy]), its format is newer, its actions do not parse, or its inputs and
// outputs differ from the metadata.
func Read(path string) (*onnx.Model, *Info, error) {
	m, err := onnx.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("read policy %q: %w", path, err)
	}
	info, err := Parse(m)
	if err == nil {
		err = m.Check()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read policy %q: %w", path, err)
	}
	return m, info, nil
}

// Parse is [Read] for a model in memory. Metadata that contradicts the graph or itself is an error.
func Parse(m *onnx.Model) (*Info, error) {
	meta := m.Metadata()
	if kind := meta[keyPrefix+"kind"]; kind != policyKind {
		return nil, notPolicy(m, kind)
	}
	info, err := parseInfo(meta)
	if err != nil {
		return nil, err
	}
	if err := info.checkOutputs(m); err != nil {
		return nil, err
	}
	return info, info.checkInputs(m)
}

// CascadeError is the error for a cascade, which looks at an answer before it decides again, where a policy that decides once is
// needed. It is an [ErrNotPolicy].
type CascadeError struct{}

// Error says what the file is.
func (*CascadeError) Error() string {
	return ErrNotPolicy.Error() + " that decides once: the file is a cascade, which looks at answers before it decides again"
}

// Unwrap returns ErrNotPolicy.
func (*CascadeError) Unwrap() error { return ErrNotPolicy }

// Hint says what takes a cascade.
func (*CascadeError) Hint() string {
	return "pipe decide and pipe eval play a cascade through a table, pipe inspect explains it, and the gateway of pipe serve runs it (docs/cascades.md); here, use a policy that pipe train makes without --cascade"
}

func notPolicy(m *onnx.Model, kind string) error {
	if kind == "cascade" { // of package models/cascade, which imports this one
		return &CascadeError{}
	}
	if kind != "" {
		return fmt.Errorf("%w: the file says that it is a %q", ErrNotPolicy, kind)
	}
	return fmt.Errorf("%w: an ONNX model without %skind in its metadata (inputs %s; outputs %s)",
		ErrNotPolicy, keyPrefix, ioNames(m.Inputs()), ioNames(m.Outputs()))
}

func ioNames(ios []onnx.IO) string {
	const shown = 8
	names := make([]string, 0, shown+1)
	for i, io := range ios {
		if i == shown {
			names = append(names, fmt.Sprintf("and %d more", len(ios)-shown))
			break
		}
		names = append(names, strconv.Quote(io.Name))
	}
	return strings.Join(names, ", ")
}

// parseInfo reads the metadata and stops at the first invalid field.
func parseInfo(meta map[string]string) (*Info, error) {
	r := Metadata{Values: meta}
	info := &Info{Format: r.Integer("format", 1, math.MaxInt32)}
	if r.Err() == nil && info.Format > newestFormat {
		return nil, fmt.Errorf("policy format %d is newer than %d, the newest this version reads", info.Format, newestFormat)
	}
	info.Method, info.Recipe = r.Text("method"), r.Text("recipe")
	info.Decoder = decoderOf(&r)
	info.Lambda, info.Tau = r.Number("lambda"), r.Number("tau")
	info.Dim = r.Integer("dim", 1, math.MaxInt32)
	info.Members = r.Integer("members", 0, math.MaxInt32)
	info.Actions = r.Actions()
	info.Fixed = -1
	if r.Err() == nil && info.Decoder == DecoderFixed {
		info.Fixed = r.Integer("fixed", 0, info.Actions.Len()-1)
	}
	if r.Err() != nil {
		return nil, r.Err()
	}
	info.Info = make(map[string]string)
	for key, value := range meta {
		if k, ours := strings.CutPrefix(key, keyPrefix); ours && !reservedKeys[k] {
			info.Info[k] = value
		}
	}
	_, info.Encoded = info.Info[encoderKey]
	if err := info.readPrices(meta); err != nil {
		return nil, err
	}
	if err := info.readUsage(meta); err != nil {
		return nil, err
	}
	if err := info.readGuarantee(meta); err != nil {
		return nil, err
	}
	source, ok := meta[keyPrefix+"feature_source"]
	if !ok {
		source = info.Actions.Features.Name
	}
	return info, info.agrees(source)
}

// readPrices reads the range of an any-price policy.
func (info *Info) readPrices(meta map[string]string) error {
	text, ok := meta[keyPrefix+PricesKey]
	if !ok {
		return nil
	}
	info.Prices = new(PriceRange)
	err := json.Unmarshal([]byte(text), info.Prices)
	if err == nil {
		err = info.Prices.Check()
	}
	if err != nil {
		return fmt.Errorf("metadata %s%s: %w", keyPrefix, PricesKey, strictjson.Plain(err))
	}
	if info.Decoder != DecoderEstimate || info.Encoded {
		return fmt.Errorf("metadata %s%s is of any-price policies, which have the decoder %s and no encoder in front", keyPrefix, PricesKey, DecoderEstimate)
	}
	return nil
}

// estimates reports whether the file has the outputs of a policy by estimates.
func (info *Info) estimates() bool { return info.Decoder == DecoderEstimate }

// quantities are those of which the file has estimates.
func (info *Info) quantities() []costs.Quantity {
	if info.Usage == nil {
		return nil
	}
	return info.Usage.Quantities
}

// agrees reports contradictions within the metadata.
func (info *Info) agrees(source string) error {
	if guard, ok := info.Info[GuardKey]; ok {
		if err := json.Unmarshal([]byte(guard), &info.Guard); err != nil {
			return fmt.Errorf("metadata %s%s: %w", keyPrefix, GuardKey, strictjson.Plain(err))
		}
	}
	if names, ok := info.Info[NamesKey]; ok {
		if err := json.Unmarshal([]byte(names), &info.Names); err != nil {
			return fmt.Errorf("metadata %s%s: %w", keyPrefix, NamesKey, strictjson.Plain(err))
		}
		if len(info.Names) != info.Dim {
			return fmt.Errorf("metadata %s%s has %d names, %sdim is %d", keyPrefix, NamesKey, len(info.Names), keyPrefix, info.Dim)
		}
	}
	features := info.Actions.Features
	switch fixed, members := info.Decoder == DecoderFixed, info.Decoder != DecoderFixed && !info.estimates(); {
	case info.Method == "":
		return fmt.Errorf("metadata %smethod is empty", keyPrefix)
	case features.Dim != 0 && features.Dim != info.Dim:
		return fmt.Errorf("metadata %sdim is %d, %sactions say %d features", keyPrefix, info.Dim, keyPrefix, features.Dim)
	case source != features.Name:
		return fmt.Errorf("metadata %sfeature_source is %q, %sactions say %q", keyPrefix, source, keyPrefix, features.Name)
	case members != (info.Members > 0):
		return fmt.Errorf("metadata %smembers is %d under the decoder %s", keyPrefix, info.Members, info.Decoder)
	case fixed && !info.Actions.Available(info.Fixed):
		return fmt.Errorf("metadata %sfixed is %s, which is unavailable", keyPrefix, info.Actions.Name(info.Fixed))
	case info.Guard != nil && info.Guard.Fallback && !fixed && !info.estimates():
		return fmt.Errorf("metadata %s%s says that the guard fell back to a fixed pair, but the decoder is %s", keyPrefix, GuardKey, info.Decoder)
	}
	return nil
}

// decoderOf reads the decoder.
func decoderOf(r *Metadata) Decoder {
	d := Decoder(r.Text("decoder"))
	if _, known := decoders[d]; !known {
		r.fail("metadata %sdecoder is %q, known are %s", keyPrefix, d, quoted(slices.Sorted(maps.Keys(decoders)), func(d Decoder) string { return string(d) }))
	}
	return d
}

// checkInputs compares the model's inputs with the contract. It does not check the inputs of an encoder in front.
func (info *Info) checkInputs(m *onnx.Model) error {
	in := m.Inputs()
	if info.Encoded {
		if slices.ContainsFunc(in, func(v onnx.IO) bool { return v.Name == FeaturesInput }) {
			return fmt.Errorf("policy takes %q, but its metadata says that an encoder is in front", FeaturesInput)
		}
		return nil
	}
	want := info.inputs()
	if len(in) != len(want) || len(in) == 1 && in[0].Name != FeaturesInput {
		return fmt.Errorf("policy takes inputs %s, not %s alone, and its metadata names no encoder in front", ioNames(in), ioNames(want))
	}
	for _, w := range want {
		i := slices.IndexFunc(in, func(v onnx.IO) bool { return v.Name == w.Name })
		if i < 0 {
			return fmt.Errorf("policy has no input %q (inputs %s)", w.Name, ioNames(in))
		}
		if f := in[i]; f.DType != w.DType || len(f.Shape) != 2 || f.Shape[1].Name != "" || f.Shape[1].Size != w.Shape[1].Size {
			return fmt.Errorf("policy input %q is %v %v, not %v of width %d, as its metadata says", f.Name, f.DType, f.Shape, w.DType, w.Shape[1].Size)
		}
	}
	return nil
}

// inputs are those of the contract. The first axis of each is free.
func (info *Info) inputs() []onnx.IO {
	return append([]onnx.IO{matrix(FeaturesInput, onnx.Float32, info.Dim)}, info.PriceInputs()...)
}

// PriceInputs are the inputs of the file besides those that say what is decided on: none unless it is an any-price file. The first
// axis of each is free.
func (info *Info) PriceInputs() (in []onnx.IO) {
	if info.Prices == nil {
		return nil
	}
	a := info.Actions
	in = append(in,
		matrix(ExpertFeesInput, onnx.Float32, len(a.Experts)), matrix(AdviceFeesInput, onnx.Float32, len(a.Advice)),
		matrix(PairFeesInput, onnx.Float32, a.Len()), matrix(AvailableInput, onnx.Bool, a.Len()))
	for _, q := range info.quantities() {
		in = append(in, matrix(UsagePriceInput(q), onnx.Float32, len(a.Experts)))
	}
	return in
}

func matrix(name string, t onnx.DType, width int) onnx.IO {
	return onnx.IO{Name: name, DType: t, Shape: onnx.Shape{onnx.Sym("batch"), onnx.Fix(int64(width))}}
}

// checkOutputs compares the model's outputs with the contract.
func (info *Info) checkOutputs(m *onnx.Model) error {
	outputs := make(map[string]onnx.IO)
	for _, o := range m.Outputs() {
		outputs[o.Name] = o
	}
	for _, want := range info.outputs() {
		o, ok := outputs[want.name]
		if !ok {
			return fmt.Errorf("policy has no output %q (outputs %s)", want.name, ioNames(m.Outputs()))
		}
		if o.DType != want.dtype || len(o.Shape) != want.rank {
			return fmt.Errorf("policy output %q is %v %v, not %v of rank %d", want.name, o.DType, o.Shape, want.dtype, want.rank)
		}
		if want.rank == 1 {
			continue
		}
		if d := o.Shape[1]; d.Name != "" || d.Size != int64(info.Actions.Len()) {
			return fmt.Errorf("policy output %q is %v wide, its actions are %d", want.name, d, info.Actions.Len())
		}
	}
	return nil
}

// output is an output of the contract.
type output struct {
	name  string
	dtype onnx.DType
	rank  int
}

// outputs are those of the contract.
func (info *Info) outputs() []output {
	out := []output{{ActionOutput, onnx.Int64, 1}, {ExpertOutput, onnx.Int64, 1}, {AdviceOutput, onnx.Int64, 1}, {ScoresOutput, onnx.Float32, 2}}
	if info.estimates() {
		out = append(out, output{LossOutput, onnx.Float32, 2}, output{CostOutput, onnx.Float32, 2})
	}
	for _, q := range info.quantities() {
		out = append(out, output{UsageOutput(q), onnx.Float32, 2})
	}
	if info.Guarantee != nil {
		out = append(out, output{AcceptedOutput, onnx.Bool, 1})
	}
	return out
}
