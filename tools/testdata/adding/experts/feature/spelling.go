package feature

import (
	"context"
	"strings"

	"pipe/experts/builder/part"
)

// spelling is the number of letters and the number of vowels among them.
type spelling struct{}

func newSpelling(_ context.Context, s *part.Setup, settings map[string]any) (part.Feature, error) {
	return spelling{}, s.Settings(settings, &struct{}{})
}

func (spelling) Name() string { return "spelling" }

func (spelling) Dim() int { return 2 }

func (spelling) Encode(_ context.Context, dst []float32, b *part.Batch) error {
	for n, in := range b.Instances {
		vowels := 0
		for _, letter := range in.Text {
			if strings.ContainsRune("aeiou", letter) {
				vowels++
			}
		}
		dst[2*n], dst[2*n+1] = float32(len(in.Text)), float32(vowels)
	}
	return nil
}
