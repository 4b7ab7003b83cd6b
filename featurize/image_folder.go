package featurize

import (
	"errors"
	"fmt"
	"slices"

	"pipe/featurize/pixel"
	"pipe/onnx"
	"pipe/onnx/hf"
	"pipe/onnx/rewrite"
)

// imageFolder is the folder of an encoder of images.
type imageFolder struct{ modelFolder }

func (f *imageFolder) read(o ImageModelOptions) (*ImageModel, error) {
	if err := f.open(hf.TowerVision); err != nil {
		return nil, err
	}
	m := &ImageModel{Architecture: f.config.ModelType, Float16: o.Precision == Float16}
	graph, err := f.images()
	if err != nil {
		return nil, err
	}
	if m.Preprocess, err = f.preprocess(o.Preprocess); err != nil {
		return nil, err
	}
	if m.Weights, err = f.weights(); err != nil {
		return nil, err
	}
	if m.output, err = vectorOutput(graph, o.Output); err != nil {
		return nil, err
	}
	if m.Float16 {
		if graph, err = rewrite.ToFloat16(graph); err != nil {
			return nil, err
		}
	}
	m.Graph, err = pixelGraph(graph, m.output, &m.Preprocess)
	return m, err
}

// images is the graph of the export, or a graph built from the weights.
func (f *imageFolder) images() (*onnx.Model, error) {
	if f.export != "" {
		return f.readExport()
	}
	if f.tower == "" {
		return nil, fmt.Errorf("a model of type %q without an ONNX export is not an image encoder", f.config.ModelType)
	}
	return hf.Model(f.path, hf.Options{Tower: f.tower})
}

// preprocess is the requested preprocessing, else the folder's, else CLIP's.
func (f *imageFolder) preprocess(asked *pixel.Preprocess) (pixel.Preprocess, error) {
	if asked != nil {
		return *asked, nil
	}
	p, found, err := pixel.ReadPreprocess(f.path)
	switch {
	case err != nil || found:
		return p, err
	case f.tower != "" && f.config.ImageSize > 0:
		p = pixel.CLIPPreprocess(int(f.config.ImageSize))
		return p, p.Validate()
	}
	return p, &MissingPreprocessError{Folder: f.path}
}

// vectorOutput is the name of the output that holds vectors.
func vectorOutput(m *onnx.Model, asked string) (string, error) {
	outputs := m.Outputs()
	find := func(name string) int {
		return slices.IndexFunc(outputs, func(v onnx.IO) bool { return v.Name == name })
	}
	at := find(hf.ImageEmbeds)
	switch {
	case asked != "":
		at = find(asked)
	case at < 0 && len(outputs) == 1:
		at = 0
	}
	switch {
	case len(outputs) == 0:
		return "", errors.New("the graph has no outputs")
	case at < 0 && asked == "":
		return "", fmt.Errorf("the graph has outputs %s; name the one that is the vector", listed(outputs))
	case at < 0:
		return "", fmt.Errorf("the graph has outputs %s, but no %q", listed(outputs), asked)
	}
	v := outputs[at]
	flat := len(v.Shape) == 2 || fitsVector(v.Shape)
	if v.DType != onnx.Float32 || v.Shape != nil && !flat {
		return "", fmt.Errorf("output %s is not a vector; it must be float32 [batch d] or [batch d 1 1]", listed(outputs[at:at+1]))
	}
	return v.Name, nil
}

// fitsVector reports whether a shape is that of feature maps of one pixel.
func fitsVector(s onnx.Shape) bool {
	return len(s) == 4 && (!s[2].Known() || s[2].Size == 1) && (!s[3].Known() || s[3].Size == 1)
}
