package part

import (
	"sync"

	"pipe/featurize/pixel"
)

// Sizes are an image resized for models. Each size is computed once, on first use, for all models of the same geometry.
// It is safe for concurrent use.
type Sizes struct {
	image   *pixel.Image
	views   []pixel.View // that may be asked for
	prepare prepareImage

	mu   sync.Mutex
	made map[pixel.Geometry]func() (*pixel.Prepared, error)

	vectors map[*ImageVectors][]float32 // nil: none were kept
}

// prepareImage resizes one image for the views of a model.
type prepareImage = func(p pixel.Preprocess, image *pixel.Image, views []pixel.View) (*pixel.Prepared, error)

// NewSizes returns the sizes of an image that views may be asked of; prepare is pixel.Preprocess.Prepare.
func NewSizes(image *pixel.Image, views []pixel.View, prepare prepareImage) *Sizes {
	return &Sizes{image: image, views: views, prepare: prepare, made: make(map[pixel.Geometry]func() (*pixel.Prepared, error))}
}

// Prepared returns the image resized for a model.
func (s *Sizes) Prepared(p pixel.Preprocess) (*pixel.Prepared, error) {
	s.mu.Lock()
	prepare, ok := s.made[p.Geometry()]
	if !ok {
		prepare = sync.OnceValues(func() (*pixel.Prepared, error) { return s.prepare(p, s.image, s.shownBy(p)) })
		s.made[p.Geometry()] = prepare
	}
	s.mu.Unlock()
	prepared, err := prepare()
	if err != nil {
		return nil, err
	}
	return prepared.For(p)
}

// shownBy returns the views that a model can be shown. Others belong to models of another geometry.
func (s *Sizes) shownBy(p pixel.Preprocess) []pixel.View {
	var list []pixel.View
	for _, v := range s.views {
		if p.CheckView(v) == nil {
			list = append(list, v)
		}
	}
	return list
}
