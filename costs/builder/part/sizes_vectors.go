package part

// ImageVectors are the vectors that one image model makes of the instances' images, seen in the plain view. Parts with
// the same model share them: what one part computes for a batch the others take.
type ImageVectors struct {
	wanted bool
}

// Want says that a part will ask for the vectors of all instances.
func (v *ImageVectors) Want() { v.wanted = true }

// Wanted reports whether a part asks for the vectors. It is known once all parts of a build are made.
func (v *ImageVectors) Wanted() bool { return v.wanted }

// Keep notes the vector of the instance with the sizes s, for as long as its batch lasts. The vector is not changed later.
// Nothing is kept where s is nil: the instance does not share its sizes.
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

// Of returns the vector that was kept of the instance with the sizes s, nil if there is none. The caller does not change it.
func (v *ImageVectors) Of(s *Sizes) []float32 {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.vectors[v]
}
