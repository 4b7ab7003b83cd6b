package featurize

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"pipe/internal/dataerror"
	"pipe/onnx"
	"pipe/onnx/hf"
)

// What goes into an encoder.
const (
	InputText  = "text"
	InputImage = "image"
)

// encoderInput is a kind of input, and what its encoders have in common.
type encoderInput struct {
	name   string
	tower  hf.Tower                    // that reads it, of a model with several
	vector string                      // the output that is the vector, as graphs of encoders name it
	form   string                      // of the inputs of a graph without metadata, for errors
	reads  func(v onnx.IO) bool        // recognises such an input
	check  func(e *EncoderInfo) error  // of the settings in an encoder's file
	size   func(e *EncoderInfo) string // what is read, in words
}

// encoderInputs are the kinds of input. The first is the default of a model with several towers. The last is the first that
// a graph without metadata is compared with.
var encoderInputs = []encoderInput{
	{
		name: InputImage, tower: hf.TowerVision, vector: ImageEmbedding, form: "images (four axes)", reads: maybeImages, check: checkImageInfo,
		size: func(e *EncoderInfo) string {
			return fmt.Sprintf("images of %d x %d pixels", e.Preprocess.Width, e.Preprocess.Height)
		},
	},
	{
		name: InputText, tower: hf.TowerText, vector: hf.SentenceEmbedding, form: "texts (" + textInputs[0] + ")",
		reads: func(v onnx.IO) bool { return v.Name == textInputs[0] }, check: checkTextInfo,
		size: func(e *EncoderInfo) string { return fmt.Sprintf("text of up to %d tokens", e.MaxLength) },
	},
}

// TowerInputs returns the kind of input, such as InputText, of each tower of a model that has several.
func TowerInputs() map[hf.Tower]string {
	inputs := make(map[hf.Tower]string, len(encoderInputs))
	for _, in := range encoderInputs {
		inputs[in.tower] = in.name
	}
	return inputs
}

// inputNamed returns a kind of input.
func inputNamed(name string) (in encoderInput, ok bool) {
	at := slices.IndexFunc(encoderInputs, func(in encoderInput) bool { return in.name == name })
	if at < 0 {
		return in, false
	}
	return encoderInputs[at], true
}

func (e *EncoderInfo) validate() error {
	if in, ok := inputNamed(e.Input); ok {
		return in.check(e)
	}
	var known []string
	for _, in := range encoderInputs {
		known = append(known, in.name)
	}
	return fmt.Errorf("input is %q; known are %s", e.Input, strings.Join(known, ", "))
}

func checkImageInfo(e *EncoderInfo) error {
	if e.Preprocess == nil {
		return errors.New("preprocess is missing")
	}
	return e.Preprocess.Validate()
}

func checkTextInfo(e *EncoderInfo) error {
	if e.MaxLength < 1 {
		return fmt.Errorf("max_length is %d; it must be at least 1", e.MaxLength)
	}
	return nil
}

// Vector is the name of the output of the graph that has the vectors, [batch, Dim]; "" for an unknown input.
func (e *EncoderInfo) Vector() string {
	in, _ := inputNamed(e.Input)
	return in.vector
}

// Size says in words what the encoder reads, such as "images of 224 x 224 pixels".
func (e *EncoderInfo) Size() string {
	if in, ok := inputNamed(e.Input); ok {
		return in.size(e)
	}
	return ""
}

// EncoderInputs returns what an encoder reads: InputText, InputImage or both, the
// default first. The name is as for
// ReadTextModel and ReadImageModel. A file of pipe that holds no encoder alone is
// a *dataerror.Error.
func EncoderInputs(name string) ([]string, error) {
	path, err := hf.Resolve(name)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read encoder: %w", err)
	}
	if info.IsDir() {
		if inputs := towerInputs(path); inputs != nil {
			return inputs, nil
		}
		export, found := hf.Export(path)
		if !found {
			return []string{InputText}, nil // the reader of texts says what is missing
		}
		path = export
	}
	m, err := onnx.ReadFile(path)
	if err == nil {
		var input string
		if input, err = graphInput(m); err == nil {
			return []string{input}, nil
		}
	}
	return nil, fmt.Errorf("read encoder: %w", &dataerror.Error{File: name, Err: err})
}

// graphInput is the input that a graph declares, else the one implied by the names and axes of its inputs.
func graphInput(m *onnx.Model) (string, error) {
	if kind := m.Metadata()[keyKind]; kind != "" && kind != EncoderKind {
		return "", fmt.Errorf("is a %s, not an encoder", kind)
	}
	if about, ok, err := ParseEncoderInfo(m.Metadata()); ok {
		return about.Input, err
	}
	var forms []string
	for _, in := range slices.Backward(encoderInputs) {
		if slices.ContainsFunc(m.Inputs(), in.reads) {
			return in.name, nil
		}
		forms = append(forms, in.form)
	}
	return "", fmt.Errorf("the graph has inputs %s; they are neither %s", listed(m.Inputs()), strings.Join(forms, " nor "))
}

// maybeImages finds inputs of images, and inputs whose axes the graph does not
// declare.
func maybeImages(v onnx.IO) bool {
	return len(v.Shape) == 4 || v.Shape == nil && v.DType == onnx.Float32
}

// towerInputs are the inputs of the towers of a folder; nil if it has none.
func towerInputs(folder string) (inputs []string) {
	c, err := hf.ReadConfig(folder)
	has := func(t hf.Tower) bool {
		_, exported := hf.ExportOf(folder, t)
		return exported || err == nil && c.Has(t)
	}
	for _, in := range encoderInputs {
		if has(in.tower) {
			inputs = append(inputs, in.name)
		}
	}
	return inputs
}
