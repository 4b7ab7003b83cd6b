package part

// ImageVectors are the vectors that one image model makes of the instances' images, seen in the plain view. Parts with
// the same model share them: what one part computes for a batch the others take.
type ImageVectors struct {
	wanted bool
}

// VectorsOf returns the vectors of the image model of a digest, which covers weights, preprocessing and precision.
func VectorsOf(b *Build, digest string) (*ImageVectors, error) {
	return Shared(b, digest, func() (*ImageVectors, error) { return &ImageVectors{}, nil })
}

// Want says that a part will ask for the vectors of all instances.
func (v *ImageVectors) Want() { v.wanted = true }

// Wanted reports whether a part asks for the vectors. It is known once all parts of a build are made.
func (v *ImageVectors) Wanted() bool { return v.wanted }

// Keep notes the vector of an instance, which is not changed later, for as long as its batch lasts. Nothing is kept of
// an instance whose sizes are not shared.
func (v *ImageVectors) Keep(in *Instance, vector []float32) {
	if in.Sizes == nil {
		return
	}
	in.Sizes.mu.Lock()
	defer in.Sizes.mu.Unlock()
	if in.Sizes.vectors == nil {
		in.Sizes.vectors = make(map[*ImageVectors][]float32)
	}
	in.Sizes.vectors[v] = vector
}

// Of returns the vector that was kept of an instance, nil if there is none. The caller does not change it.
func (v *ImageVectors) Of(in *Instance) []float32 {
	if in.Sizes == nil {
		return nil
	}
	in.Sizes.mu.Lock()
	defer in.Sizes.mu.Unlock()
	return in.Sizes.vectors[v]
}
