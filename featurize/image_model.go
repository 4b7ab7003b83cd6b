package featurize

import (
	"encoding/json"
	"errors"
	"fmt"

	"pipe/featurize/pixel"
	"pipe/internal/digest"
	"pipe/onnx"
)

// ImageModel is an image encoder as read from files: a graph from pixels to one
// vector, which includes the scaling of pixel values, and the preprocessing
// that makes pixels from images.
type ImageModel struct {
	Name         string      // its name without location, such as clip-vit-base-patch32
	Architecture string      // model_type of config.json; "" if a graph came without
	Graph        *onnx.Model // PixelsInput to ImageEmbedding
	Preprocess   pixel.Preprocess
	Weights      string // digest of the files of the model, "sha256:" and hexadecimal digits
	Float16      bool   // weights and arithmetic

	output string // the output of the source file that is the vector
}

// Precision is that of a model's weights and arithmetic.
type Precision string

// The precisions, and how they are written.
const (
	AnyPrecision Precision = ""        // as an encoder's file has it, else float32
	Float32      Precision = "float32" // a float16 file is rejected
	Float16      Precision = "float16" // for GPUs
)

// Validate lists the precisions that there are.
func (p Precision) Validate() error {
	switch p {
	case AnyPrecision, Float32, Float16:
		return nil
	}
	return fmt.Errorf("precision is %q; known are %s, %s", string(p), Float32, Float16)
}

// ImageModelOptions override the settings in the model's folder.
type ImageModelOptions struct {
	Preprocess *pixel.Preprocess // nil: as the model's folder says; an .onnx file without a folder needs it
	Output     string            // the output that is the vector; "": image_embeds, or the only one
	Precision  Precision         // of weights and arithmetic
}

// DefaultImageModelOptions overrides nothing.
func DefaultImageModelOptions() ImageModelOptions { return ImageModelOptions{} }

// Validate reports every problem at once.
func (o ImageModelOptions) Validate() error {
	err := o.Precision.Validate()
	if o.Preprocess != nil {
		err = errors.Join(err, o.Preprocess.Validate())
	}
	if err != nil {
		return fmt.Errorf("image model: %w", err)
	}
	return nil
}

// MissingPreprocessError says that the preprocessing of a model is not known.
type MissingPreprocessError struct {
	Folder string // that was looked at
}

func (e *MissingPreprocessError) Error() string {
	return fmt.Sprintf("the preprocessing of images is not known: %q has no preprocessor_config.json", e.Folder)
}

// Hint names the missing settings.
func (e *MissingPreprocessError) Hint() string {
	return "set size, resizing, layout, mean and deviation as on the model's page, with --size and the related flags of pipe convert, " +
		"whose file then contains them, or in the settings of a configuration"
}

// ReadImageModel reads an encoder: a folder as Hugging Face keeps models, an
// .onnx file with one float32 input of images, or the name of a model in the
// local cache of the Hugging Face libraries.
//
// From a folder with towers, such as CLIP's, it reads the image tower:
// onnx/vision_model.onnx or vision_model.onnx if it exists, else a graph built
// from config.json and model.safetensors. From other folders it reads
// onnx/model.onnx or model.onnx. preprocessor_config.json defines the
// preprocessing; a CLIP without it gets CLIP's preprocessing. The vector is an
// output [batch, d] or [batch, d, 1, 1]. An encoder that ImageModel.Encoder
// made needs no other file.
//
// A model that is not found gives an *hf.MissingModelError. One that cannot be
// used gives a *dataerror.Error, which can wrap a *MissingPreprocessError.
func ReadImageModel(name string, o ImageModelOptions) (*ImageModel, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	m, err := readModel(name, modelReader[*ImageModel]{
		folder: func(f modelFolder) (*ImageModel, error) { return (&imageFolder{f}).read(o) },
		file:   func(graph *onnx.Model) (*ImageModel, error) { return parseImageEncoder(graph, o) },
	})
	if err == nil && m.Name == "" {
		m.Name = modelName(name)
	}
	return m, err
}

// Dim is the length of a vector, 0 if the graph does not declare it.
func (m *ImageModel) Dim() int { return widthOf(m.Graph, ImageEmbedding) }

// Digest identifies everything that affects vectors, weights and settings,
// except the decoder of images.
func (m *ImageModel) Digest() string {
	settings, err := json.Marshal(m.Preprocess)
	if err != nil {
		panic(err) // numbers, which Validate found finite, and strings
	}
	text := fmt.Sprintf("%s\n%s\noutput %q, float16 %t\n", m.Weights, settings, m.output, m.Float16)
	return digest.Of([]byte(text))
}

// Info describes the encoder.
func (m *ImageModel) Info() EncoderInfo {
	return EncoderInfo{
		Input: InputImage, Name: m.Name, Architecture: m.Architecture, Dim: m.Dim(), Preprocess: &m.Preprocess,
		Output: m.output, Float16: m.Float16, Digest: m.Digest(), Weights: m.Weights,
	}
}

// Encoder is the model as one file that ReadImageModel reads: the graph, and the
// settings in its metadata.
func (m *ImageModel) Encoder() (*onnx.Model, error) {
	return encoderGraph(m.Graph, ImageEmbedding, m.Info(), nil)
}

// ParseImageModel is ReadImageModel for a model in memory, made by Encoder, or
// for the encoder in a file merged with a policy.
func ParseImageModel(graph *onnx.Model) (*ImageModel, error) {
	m, err := parseImageEncoder(graph, DefaultImageModelOptions())
	if err != nil {
		return nil, err
	}
	return m, m.check()
}

// parseImageEncoder is the model of a file that Encoder made.
func parseImageEncoder(graph *onnx.Model, o ImageModelOptions) (*ImageModel, error) {
	info, err := infoOf(graph, InputImage)
	if err != nil {
		return nil, err
	}
	switch {
	case o.Preprocess != nil && *o.Preprocess != *info.Preprocess:
		return nil, errors.New("the file contains its preprocessing; no other can be set")
	case o.Output != "" && o.Output != info.Output:
		return nil, fmt.Errorf("the file was made from output %q, not from %q", info.Output, o.Output)
	case o.Precision == Float16 && !info.Float16:
		return nil, errors.New("the file is in float32; make a float16 file from the original model")
	case o.Precision == Float32 && info.Float16:
		return nil, errors.New("the file is in float16; make a float32 file from the original model")
	}
	return &ImageModel{
		Name: info.Name, Architecture: info.Architecture, Graph: graph, Preprocess: *info.Preprocess, Weights: info.Weights,
		Float16: info.Float16, output: info.Output,
	}, checkPixels(graph, info.Preprocess)
}
