package build

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"pipe/costs"
	"pipe/featurize"
	"pipe/onnx"
	"pipe/onnx/hf"
	"pipe/onnx/ort"
)

// clip is a classifier without training: it compares an image with texts about
// the classes, which the templates that an advice shows make of their names. All
// families of templates are columns of one graph, so that an image is looked at
// once.
type clip struct {
	clipSettings
	model      string // where the towers lie, or their name in the cache
	tokenizer  string
	labels     []string // of the classes
	names      []string // of the classes, for templates; aligned with labels
	families   [][]string
	bases      []string // per family: what its class weights depend on
	takes      map[string]bool
	scale      float64
	runtime    *ort.Runtime
	preprocess featurize.Preprocess
	session    *ort.Session // nil until Train
}

type clipSettings struct {
	Model     Path   `json:"model"`     // a folder, or org/name in the local Hugging Face cache
	Tokenizer Path   `json:"tokenizer"` // a folder or file; "": the model's own
	Classes   Path   `json:"classes"`   // class list, whose ids are the labels; "": the labels of the configuration
	Names     Path   `json:"names"`     // class list, whose names templates take; "": those of classes
	Precision string `json:"precision"` // of the vision tower: float32 or float16
	Batch     int    `json:"batch"`     // images per call
}

func newClip(ctx context.Context, s *Setup, settings map[string]any) (Expert, error) {
	cfg := clipSettings{Precision: float32Precision, Batch: 32}
	if err := s.Settings(settings, &cfg); err != nil {
		return nil, err
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	e := &clip{clipSettings: cfg, model: s.named(cfg.Model)}
	if cfg.Tokenizer != "" {
		e.tokenizer = s.named(cfg.Tokenizer)
	}
	if err := e.listClasses(ctx, s); err != nil {
		return nil, err
	}
	if err := e.listFamilies(s); err != nil {
		return nil, err
	}
	var err error
	if e.runtime, err = s.Runtime(); err != nil {
		return nil, err
	}
	return e, e.describe(s)
}

func (cfg *clipSettings) check() error {
	switch {
	case cfg.Model == "":
		return errors.New("model: none is named")
	case cfg.Batch < 1:
		return fmt.Errorf("batch is %d", cfg.Batch)
	}
	return checkPrecision(cfg.Precision)
}

// listClasses reads labels and names of the classes.
func (e *clip) listClasses(ctx context.Context, s *Setup) error {
	e.labels, e.names = s.Labels, s.Labels
	if e.Classes != "" {
		list, err := s.classes(ctx, "classes", e.Classes)
		if err != nil {
			return fmt.Errorf("read classes: %w", err)
		}
		e.labels, e.names = list.IDs, list.Names
	}
	if e.Names != "" {
		path := s.Path(e.Names)
		err := s.File(ctx, "names", path)
		if err == nil {
			e.names, err = readClassNames(path)
		}
		if err != nil {
			return fmt.Errorf("read names: %w", err)
		}
		if len(e.names) != len(e.labels) {
			return &costs.DataError{File: path, Msg: fmt.Sprintf("has %d names for %d classes", len(e.names), len(e.labels))}
		}
	}
	for _, l := range s.Labels {
		if !slices.Contains(e.labels, l) {
			return fmt.Errorf("classes: the instances' label %q is not among them", l)
		}
	}
	if len(e.labels) == 0 {
		return errors.New("classes: none are listed, here or as labels of the configuration")
	}
	return nil
}

// listFamilies collects the distinct families of templates that the levels of
// advice show. Levels that show other things cannot be taken.
func (e *clip) listFamilies(s *Setup) error {
	levels, err := s.levels()
	if err != nil {
		return err
	}
	e.takes = make(map[string]bool)
	for _, k := range levels {
		name := s.Advice[k]
		switch a := s.advice[name].(type) {
		case *prompts:
			e.takes[name] = true
			if e.family(a.templates) < 0 {
				e.families = append(e.families, a.templates)
			}
		case none:
			return fmt.Errorf("advice %q shows no prompts, and without one there is nothing to compare an image with: make it kind prompts with a count of 1, or list it under unavailable", name)
		}
	}
	if len(e.families) == 0 {
		return errors.New("no advice that it takes is of kind prompts")
	}
	return nil
}

// family is the position of a family, -1 if it is not known.
func (e *clip) family(templates []string) int {
	return slices.IndexFunc(e.families, func(f []string) bool { return slices.Equal(f, templates) })
}

// describe opens both towers once, to find out whether they fit, and makes what
// decides the answers inputs of the build. Their weights are not kept.
func (e *clip) describe(s *Setup) error {
	vision, err := e.vision()
	if err != nil {
		return err
	}
	e.preprocess = vision.Preprocess
	text, err := e.text()
	if err != nil {
		return err
	}
	if t, v := text.Dim(), vision.Dim(); t > 0 && v > 0 && t != v {
		return fmt.Errorf("model %q: its vectors of texts have %d numbers, those of images %d", e.model, t, v)
	}
	folder, err := hf.Resolve(e.model)
	if err != nil {
		return err
	}
	if e.scale, err = hf.LogitScale(folder); err != nil {
		return err
	}
	for _, templates := range e.families {
		e.bases = append(e.bases, classWeightBasis(text.Digest(), e.names, templates))
	}
	s.inputs["model of "+s.part] = vision.Digest()
	s.inputs["model class weights of "+s.part] = digest(fmt.Appendf(nil, "%q", e.bases))
	s.inputs["model logit scale of "+s.part] = fmt.Sprint(e.scale)
	return nil
}

// vision reads the tower of images.
func (e *clip) vision() (*featurize.ImageModel, error) {
	return featurize.ReadImageModel(e.model, featurize.ImageModelOptions{Float16: e.Precision == float16Precision})
}

// text reads the tower of texts.
func (e *clip) text() (*featurize.TextModel, error) {
	return featurize.ReadTextModel(e.model, featurize.TextModelOptions{Tokenizer: e.tokenizer})
}

// Labels returns the ids of the classes.
func (e *clip) Labels() []string { return e.labels }

// Takes reports whether a level of advice shows prompts.
func (e *clip) Takes(advice string) bool { return e.takes[advice] }

// Predict looks at every image once and reads off what every family says.
func (e *clip) Predict(ctx context.Context, batch []Instance, shown [][]Shown) ([][]Prediction, error) {
	batch, err := sized(batch, shown)
	if err != nil {
		return nil, err
	}
	logits, err := e.logits(ctx, batch)
	if err != nil {
		return nil, err
	}
	out, width := make([][]Prediction, len(shown)), len(e.families)*len(e.labels)
	for k, level := range shown {
		if level == nil {
			continue
		}
		out[k] = make([]Prediction, len(batch))
		for n := range batch {
			f := e.family(level[n].Prompts)
			if f < 0 {
				return nil, fmt.Errorf("instance %q is shown prompts that no level has", batch[n].ID)
			}
			from := n*width + f*len(e.labels)
			out[k][n] = e.prediction(logits[from : from+len(e.labels)])
		}
	}
	return out, nil
}

// prediction is the likeliest class, the first of equals.
func (e *clip) prediction(logits []float32) Prediction {
	best, p := argmax(logits), slices.Clone(logits) // levels may show the same family
	softmax(p)
	return Prediction{Label: e.labels[best], Probabilities: p}
}

// logits are instances x families x classes. The instances have sizes.
func (e *clip) logits(ctx context.Context, batch []Instance) ([]float32, error) {
	out := make([]float32, 0, len(batch)*len(e.families)*len(e.labels))
	for some := range slices.Chunk(batch, e.Batch) {
		pixels, err := e.pixels(some)
		if err != nil {
			return nil, err
		}
		got, err := e.session.Run(ctx, map[string]*onnx.Tensor{featurize.PixelsInput: pixels})
		if err != nil {
			return nil, err
		}
		values := got[clipLogits].Float32s()
		if len(values) != len(some)*len(e.families)*len(e.labels) {
			return nil, fmt.Errorf("model %q: logits of shape %v for %d images", e.model, got[clipLogits].Shape, len(some))
		}
		for i, v := range values {
			if v-v != 0 {
				return nil, fmt.Errorf("instance %q: a logit is %v", some[i/(len(e.families)*len(e.labels))].ID, v)
			}
		}
		out = append(out, values...)
	}
	return out, nil
}

// pixels are the images as the model sees them: batch x height x width x 3.
func (e *clip) pixels(batch []Instance) (*onnx.Tensor, error) {
	size := e.preprocess.Len()
	raw := make([]uint8, len(batch)*size)
	for n := range batch {
		prepared, err := batch[n].sizes.of(e.preprocess)
		if err == nil {
			err = prepared.Pixels(raw[n*size:(n+1)*size], featurize.Centre())
		}
		if err != nil {
			return nil, &costs.DataError{Msg: fmt.Sprintf("instance %q", batch[n].ID), Err: err}
		}
	}
	shape := []int64{int64(len(batch)), int64(e.preprocess.Height), int64(e.preprocess.Width), 3}
	return &onnx.Tensor{DType: onnx.Uint8, Shape: shape, Raw: raw}, nil
}

// Close frees the model.
func (e *clip) Close() error {
	if e.session == nil {
		return nil
	}
	return e.session.Close()
}
