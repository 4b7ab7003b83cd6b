package convert

import (
	"fmt"
	"slices"
	"strings"

	"pipe/experts/builder/part"
	"pipe/featurize"
	"pipe/onnx"
	"pipe/onnx/hf"
	"pipe/pipeline/stage"
)

// encoderModel is an encoder of texts or images as read from its files.
type encoderModel interface {
	Info() featurize.EncoderInfo
	Encoder() (*onnx.Model, error)
}

// readEncoderModel reads the encoder that the options name. Options that apply only to the other kind of encoder are an
// *stage.OptionError.
func readEncoderModel(o Options) (encoderModel, error) {
	input, err := o.input()
	if err != nil {
		return nil, err
	}
	if unused := o.unused(input); len(unused) > 0 {
		return nil, &stage.OptionError{Err: fmt.Errorf("convert: %q reads %ss, for which %s cannot be set", o.Model, input, strings.Join(unused, ", "))}
	}
	read, err := part.Lookup(encoderReaders, input)
	if err != nil {
		return nil, fmt.Errorf("convert %q: %w", o.Model, err)
	}
	return read(o)
}

// encoderReaders read the models of each kind of input.
var encoderReaders = map[string]func(o Options) (encoderModel, error){
	featurize.InputImage: func(o Options) (encoderModel, error) {
		return featurize.ReadImageModel(o.Model, featurize.ImageModelOptions{Preprocess: o.Preprocess, Output: o.Output, Precision: o.Precision})
	},
	featurize.InputText: func(o Options) (encoderModel, error) {
		return featurize.ReadTextModel(o.Model, featurize.TextModelOptions{MaxLength: o.MaxLength, Tokenizer: o.Tokenizer})
	},
}

// input is the kind of input of the encoder: that of the requested tower, or the model's own.
func (o Options) input() (string, error) {
	inputs, err := featurize.EncoderInputs(o.Model)
	switch {
	case err != nil:
		return "", err
	case o.Tower == "":
		return inputs[0], nil
	}
	asked := featurize.TowerInputs()[hf.Tower(o.Tower)]
	if !slices.Contains(inputs, asked) {
		return "", &stage.OptionError{Err: fmt.Errorf("convert: %q reads %ss: it has no tower of %ss", o.Model, strings.Join(inputs, "s and "), asked)}
	}
	return asked, nil
}

// unused names the options that are set but do not apply to an encoder of input.
func (o Options) unused(input string) (names []string) {
	for _, c := range []struct {
		set         bool
		input, name string
	}{
		{o.MaxLength > 0, featurize.InputText, "most tokens"},
		{o.Tokenizer != "", featurize.InputText, "a tokenizer"},
		{o.Preprocess != nil, featurize.InputImage, "preprocessing"},
		{o.Output != "", featurize.InputImage, "an output"},
		{o.Precision == featurize.Float16, featurize.InputImage, "float16"},
	} {
		if c.set && c.input != input {
			names = append(names, c.name)
		}
	}
	return names
}
