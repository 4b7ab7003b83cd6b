package parttest

import (
	"context"
	"errors"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"pipe/experts/builder/part"
	"pipe/internal/digest"
)

// Words is a text encoder without a model: every word has a direction, and the vector of a text is the normalised sum of
// the directions of its words. It records the texts that it encodes.
type Words struct {
	Salt  string        // encoders with different salts have different directions and digests
	Limit int           // number of calls of Encode after which it fails with ErrLimit; 0: no limit
	Delay time.Duration // per call of Encode

	mu    sync.Mutex
	calls int
	asked []string
}

// ErrLimit is the error of an encoder that was called too often.
var ErrLimit = errors.New("too many calls of the encoder")

// WordsDim is how many numbers a vector of Words has.
const WordsDim = 24

// Name is the same for all salts.
func (e *Words) Name() string { return "words" }

// Dim is WordsDim.
func (e *Words) Dim() int { return WordsDim }

// Digest depends on the salt.
func (e *Words) Digest() string { return digest.Of([]byte("words " + e.Salt)) }

// Close does nothing.
func (e *Words) Close() error { return nil }

// Encode writes the vectors of texts into dst, len(texts) x WordsDim.
func (e *Words) Encode(_ context.Context, dst []float32, texts []string) error {
	time.Sleep(e.Delay)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.calls++; e.Limit > 0 && e.calls > e.Limit {
		return ErrLimit
	}
	e.asked = append(e.asked, texts...)
	for i, text := range texts {
		copy(dst[i*WordsDim:(i+1)*WordsDim], e.Vector(text))
	}
	return nil
}

// Vector returns the vector that Encode writes for a text, without recording the text.
func (e *Words) Vector(text string) []float32 {
	var sum [WordsDim]float64
	for _, word := range strings.Fields(strings.ToLower(text)) {
		h := fnv.New64a()
		h.Write([]byte(e.Salt + strings.Trim(word, ".")))
		r := rand.New(rand.NewPCG(h.Sum64(), 0))
		for i := range sum {
			sum[i] += r.NormFloat64()
		}
	}
	var length float64
	for _, v := range sum {
		length += v * v
	}
	vector := make([]float32, WordsDim)
	for i, v := range sum {
		vector[i] = float32(v / math.Sqrt(length+1e-9))
	}
	return vector
}

// Calls returns how often Encode was called.
func (e *Words) Calls() int { return e.calls }

// Asked returns all texts that Encode has embedded, in order.
func (e *Words) Asked() []string { return e.asked }

var _ part.TextEncoder = (*Words)(nil)
