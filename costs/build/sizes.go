package build

import (
	"slices"
	"sync"

	"pipe/featurize/pixel"
)

// sizes are an image in the sizes that models take. Each is made once, when it is first asked for, for all models of the
// same geometry. It is safe for concurrent use.
type sizes struct {
	image *pixel.Image
	views []pixel.View // that anybody may ask for

	mu   sync.Mutex
	made map[pixel.Geometry]func() (*pixel.Prepared, error)
}

func newSizes(image *pixel.Image, views []pixel.View) *sizes {
	return &sizes{image: image, views: views, made: make(map[pixel.Geometry]func() (*pixel.Prepared, error))}
}

// prepareImage resizes one image.
var prepareImage = pixel.Preprocess.Prepare

// of returns the image as a model wants it.
func (s *sizes) of(p pixel.Preprocess) (*pixel.Prepared, error) {
	s.mu.Lock()
	prepare, ok := s.made[p.Geometry()]
	if !ok {
		prepare = sync.OnceValues(func() (*pixel.Prepared, error) { return prepareImage(p, s.image, s.shownBy(p)) })
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
func (s *sizes) shownBy(p pixel.Preprocess) []pixel.View {
	var list []pixel.View
	for _, v := range s.views {
		if p.CheckView(v) == nil {
			list = append(list, v)
		}
	}
	return list
}

// shareSizes makes all experts and features of a batch share the sizes of its images: whatever a level of advice shows.
func shareSizes(batch []Instance, shown [][]Shown) {
	for n := range batch {
		if in := &batch[n]; in.Image != nil && in.sizes == nil {
			in.sizes = newSizes(in.Image, viewsShown(n, shown))
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

// sized returns instances whose sizes are there to be asked for: those of the batch where they are shared, else their own.
func sized(batch []Instance, shown [][]Shown) ([]Instance, error) {
	own := slices.Clone(batch)
	for n := range own {
		if err := own[n].needImage(); err != nil {
			return nil, err
		}
	}
	shareSizes(own, shown)
	return own, nil
}
