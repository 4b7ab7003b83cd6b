package part

import (
	"slices"

	"pipe/featurize/pixel"
)

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
