package expert

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"pipe/experts/builder/part"
	"pipe/featurize"
	"pipe/featurize/pixel"
	"pipe/internal/digest"
	"pipe/onnx/hf"
	"pipe/onnx/ort"
)

// clip is a zero-shot classifier. It compares an image with texts about the
// classes, made from their names and the templates that advice shows. All
// families of templates are columns of one graph, so that each image is encoded
// once.
type clip struct {
	clipSettings
	model      string // folder of the towers, or their name in the cache
	tokenizer  string
	labels     []string // of the classes
	names      []string // of the classes, for templates; aligned with labels
	families   [][]string
	bases      []string // per family: what its class weights depend on
	takes      map[string]bool
	dim        int // length of the vectors of both towers
	scale      float64
	runtime    *ort.Runtime
	preprocess pixel.Preprocess
	vectors    *part.ImageVectors // of the vision tower
	session    *ort.Session       // nil until Prepare
}

type clipSettings struct {
	Model     part.Path `json:"model"`     // a folder, or org/name in the local Hugging Face cache
	Tokenizer part.Path `json:"tokenizer"` // a folder or file; "": the model's own
	Classes   part.Path `json:"classes"`   // class list, whose ids are the labels; "": the labels of the configuration
	Names     part.Path `json:"names"`     // class list with the names for templates; "": the names in classes
	Precision string    `json:"precision"` // of the vision tower: float32 or float16
	Batch     int       `json:"batch"`     // images per call
}

func newClip(ctx context.Context, s *part.Setup, settings map[string]any) (part.Expert, error) {
	cfg := clipSettings{Precision: float32Precision, Batch: 32}
	if err := s.Settings(settings, &cfg); err != nil {
		return nil, err
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if err := s.CheckImages(ctx); err != nil {
		return nil, err
	}
	e := &clip{clipSettings: cfg, model: s.ModelPath(ctx, cfg.Model)}
	if cfg.Tokenizer != "" {
		e.tokenizer = s.ModelPath(ctx, cfg.Tokenizer)
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
		return errors.New("model: not set")
	case cfg.Batch < 1:
		return fmt.Errorf("batch is %d; it must be positive", cfg.Batch)
	}
	return checkPrecision(cfg.Precision)
}

// describe reads both towers, checks that they match, and makes everything that
// affects answers an input of the build. It does not keep their weights.
func (e *clip) describe(s *part.Setup) error {
	images, err := e.describeVision(s)
	if err != nil {
		return err
	}
	text, err := e.text()
	if err != nil {
		return err
	}
	e.dim = cmp.Or(images, text.Dim())
	if e.dim == 0 || text.Dim() > 0 && text.Dim() != e.dim {
		return fmt.Errorf("model %q: its text vectors have dimension %d, its image vectors %d (0: not known)", e.model, text.Dim(), images)
	}
	for _, templates := range e.families {
		e.bases = append(e.bases, classWeightBasis(text.Digest(), e.names, templates))
	}
	s.Input("model class weights", digest.Of(fmt.Appendf(nil, "%q", e.bases)))
	return nil
}

// describeVision is describe for the vision tower. It returns the length of its
// vectors.
func (e *clip) describeVision(s *part.Setup) (dim int, err error) {
	vision, err := e.vision()
	if err != nil {
		return 0, err
	}
	folder, err := hf.Resolve(e.model)
	if err != nil {
		return 0, err
	}
	if e.scale, err = hf.LogitScale(folder); err != nil {
		return 0, err
	}
	e.preprocess = vision.Preprocess
	if e.vectors, err = part.VectorsOf(s.Build, vision.Digest()); err != nil {
		return 0, err
	}
	s.Input("model", vision.Digest())
	s.Input("model logit scale", fmt.Sprint(e.scale))
	return vision.Dim(), nil
}

// vision reads the vision tower.
func (e *clip) vision() (*featurize.ImageModel, error) {
	return featurize.ReadImageModel(e.model, featurize.ImageModelOptions{Precision: featurize.Precision(e.Precision)})
}

// text reads the text tower.
func (e *clip) text() (*featurize.TextModel, error) {
	return featurize.ReadTextModel(e.model, featurize.TextModelOptions{Tokenizer: e.tokenizer})
}

var _ part.Preparer = (*clip)(nil)
