package part

import (
	"slices"
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

// ImageVectors are the vectors of one image model for the plain view of the instances' images. Parts with the same
// model share them: each batch is computed by one part only.
type ImageVectors struct {
	wanted bool
}

// Want announces that a part will use the vectors of all instances.
func (v *ImageVectors) Want() { v.wanted = true }

// Wanted reports whether a part asks for the vectors. It is known once all parts of a build are made.
func (v *ImageVectors) Wanted() bool { return v.wanted }

// Keep stores the vector of the instance with the sizes s for the lifetime of its batch. The vector must not be
// modified later. If s is nil, the instance does not share its sizes and nothing is stored.
func (v *ImageVectors) Keep(s *Sizes, vector []float32) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.vectors == nil {
		s.vectors = make(map[*ImageVectors][]float32)
	}
	s.vectors[v] = vector
}

// Of returns the stored vector of the instance with the sizes s, nil if there is none. The caller must not modify it.
func (v *ImageVectors) Of(s *Sizes) []float32 {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.vectors[v]
}

// ShareSizes makes all experts and features of a batch share the sizes of its images: whatever a level of advice shows.
func ShareSizes(batch []Instance, shown [][]AdvicePayload) {
	for n := range batch {
		if in := &batch[n]; in.Image != nil && in.Sizes == nil {
			in.Sizes = NewSizes(in.Image, viewsShown(n, shown), pixel.Preprocess.Prepare)
		}
	}
}

// viewsShown returns the distinct views of an instance that some levels show, the plain one first.
func viewsShown(n int, shown [][]AdvicePayload) []pixel.View {
	list := []pixel.View{pixel.Centre()}
	seen := map[pixel.View]bool{list[0]: true}
	for _, level := range shown {
		if level == nil {
			continue
		}
		for _, v := range level[n].Views {
			if !seen[v] {
				seen[v] = true
				list = append(list, v)
			}
		}
	}
	return list
}

// Sized returns instances whose sizes are there to be asked for: those of the batch where they are shared, else their own.
func Sized(batch []Instance, shown [][]AdvicePayload) ([]Instance, error) {
	own := slices.Clone(batch)
	for n := range own {
		if err := own[n].needImage(); err != nil {
			return nil, err
		}
	}
	ShareSizes(own, shown)
	return own, nil
}
