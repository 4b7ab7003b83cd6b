package part

import (
	"slices"
	"sync"

	"pipe/featurize/pixel"
)

// Sizes are an image in the sizes that models take. Each is made once, when it is first asked for, for all models of the
// same geometry. It is safe for concurrent use.
type Sizes struct {
	image   *pixel.Image
	views   []pixel.View // that may be asked for
	prepare PrepareImage

	mu   sync.Mutex
	made map[pixel.Geometry]func() (*pixel.Prepared, error)

	vectors map[*ImageVectors][]float32 // nil: none were kept
}

// PrepareImage resizes one image for the views of a model.
type PrepareImage = func(p pixel.Preprocess, image *pixel.Image, views []pixel.View) (*pixel.Prepared, error)

// NewSizes returns the sizes of an image that views may be asked of; prepare is pixel.Preprocess.Prepare.
func NewSizes(image *pixel.Image, views []pixel.View, prepare PrepareImage) *Sizes {
	return &Sizes{image: image, views: views, prepare: prepare, made: make(map[pixel.Geometry]func() (*pixel.Prepared, error))}
}

// Prepared returns the image as a model wants it.
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

// ShareSizes makes all experts and features of a batch share the sizes of its images: whatever a level of advice shows.
func ShareSizes(batch []Instance, shown [][]Shown) {
	for n := range batch {
		if in := &batch[n]; in.Image != nil && in.Sizes == nil {
			in.Sizes = NewSizes(in.Image, viewsShown(n, shown), pixel.Preprocess.Prepare)
		}
	}
}

// viewsShown returns the distinct views of an instance that some levels show, the plain one first.
func viewsShown(n int, shown [][]Shown) []pixel.View {
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
func Sized(batch []Instance, shown [][]Shown) ([]Instance, error) {
	own := slices.Clone(batch)
	for n := range own {
		if err := own[n].NeedImage(); err != nil {
			return nil, err
		}
	}
	ShareSizes(own, shown)
	return own, nil
}
