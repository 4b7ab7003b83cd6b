package part

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
