package embedding

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"pipe/experts/builder/part"
	"pipe/featurize"
	"pipe/internal/digest"
	"pipe/internal/parallel"
	"pipe/onnx/ort"
)

// Embedder computes the vectors of texts, each of them once. It embeds all texts that a build needs before the first
// shard is built, and other texts on demand. Where many workers share a build, all texts are embedded on demand, so that each
// worker embeds those of its own rows. On the CPU the vectors are the same: that of a text does not depend on other texts. The vectors are stored in the folder of experts. After Prepare they are
// also in memory: 75,000 vectors of 384 numbers take 115 MB. It is safe for concurrent use after Prepare.
type Embedder struct {
	encoder part.TextEncoder
	what    string // is encoded: texts, or what the texts stand for
	build   *part.Build
	levels  map[int]bool // levels of advice whose passages the build embeds
	vectors *vectorFile  // nil until Prepare
}

// EncoderSettings name the encoder of a part.
type EncoderSettings struct {
	Encoder part.Path `json:"encoder"` // a folder, an .onnx file, or org/name in the local Hugging Face cache
}

// Open returns the embedder of an encoder, and makes the encoder a model of the part of s. Parts that name the same encoder
// share its embedder. Prepare embeds the texts of all instances, and the passages that the levels of advice with the given
// indices show. The build prepares and closes it. A missing name, and an encoder that cannot be opened, are errors.
func Open(ctx context.Context, s *part.Setup, name part.Path, levels ...int) (*Embedder, error) {
	if name == "" {
		return nil, errors.New("encoder: not set")
	}
	path := s.ModelPath(ctx, name)
	e, err := part.Shared(s.Build, path, func() (*Embedder, error) {
		encoder, err := openEncoder(s.Build, path)
		return &Embedder{encoder: encoder, what: "texts", build: s.Build, levels: make(map[int]bool)}, err
	})
	if err != nil {
		return nil, err
	}
	for _, k := range levels {
		e.levels[k] = true
	}
	s.Input("model", e.encoder.Digest())
	return e, nil
}

// openEncoder opens an encoder with the function of the build, if it has one, else as featurize does.
func openEncoder(b *part.Build, path string) (part.TextEncoder, error) {
	rt, err := b.Runtime()
	if err != nil {
		return nil, err
	}
	var encoder part.TextEncoder
	if b.OpenText != nil {
		encoder, err = b.OpenText(rt, path)
	} else {
		encoder, err = featurize.OpenTextEncoder(rt, path, featurize.DefaultTextEncoderOptions())
	}
	if err != nil {
		return nil, fmt.Errorf("encoder: %w", err)
	}
	return encoder, nil
}

// New returns an embedder that no other part shares, for an open encoder. It loads the vectors in the folder, which
// must exist. what names the things that the texts stand for, for progress: texts, or for instance images. The caller
// closes the encoder. Vectors and Ensure may be called right away; Prepare must not be called.
func New(ctx context.Context, encoder part.TextEncoder, folder, what string) (*Embedder, error) {
	e := &Embedder{encoder: encoder, what: what}
	return e, e.read(ctx, folder)
}

// read loads the vectors in the folder into memory.
func (e *Embedder) read(ctx context.Context, folder string) (err error) {
	name := "embeddings-" + digest.Short(e.encoder.Digest())
	// A GPU adds in another order than the CPU: neither may find the vectors of the other.
	if d, ok := e.encoder.(interface{ Device() string }); ok && d.Device() != ort.CPU {
		name += "-" + d.Device()
	}
	e.vectors, err = openVectors(ctx, filepath.Join(folder, name), e.encoder.Digest(), e.Dim())
	return err
}

// Name is the name of the encoder's model.
func (e *Embedder) Name() string { return e.encoder.Name() }

// Dim is the length of a vector.
func (e *Embedder) Dim() int { return e.encoder.Dim() }

// Close frees the encoder.
func (e *Embedder) Close() error { return e.encoder.Close() }

// embedRows is how many texts are embedded between two appends. A killed build
// loses at most that many.
const embedRows = 512

// Ensure embeds the texts that have no vector yet, short ones first, and makes their vectors durable.
func (e *Embedder) Ensure(ctx context.Context, texts map[string]bool, progress part.Progress) error {
	missing := slices.SortedFunc(maps.Keys(texts), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
	missing = slices.DeleteFunc(missing, func(text string) bool { return e.vectors.Get(text) != nil })
	if len(missing) == 0 {
		return ctx.Err()
	}
	progress.Start(int64(len(missing)), e.what+" to embed")
	defer progress.Done()
	for some := range slices.Chunk(missing, embedRows) {
		if err := e.embed(ctx, some); err != nil {
			return err
		}
		progress.Add(int64(len(some)))
	}
	return e.vectors.Sync(ctx)
}

func (e *Embedder) embed(ctx context.Context, texts []string) error {
	values := make([]float32, len(texts)*e.Dim())
	if err := e.encoder.Encode(ctx, values, texts); err != nil {
		return fmt.Errorf("embed %s: %w", e.what, err)
	}
	return e.vectors.Add(ctx, texts, values)
}

// Vectors returns the vector of every text, texts x Dim. New texts are embedded. The caller must not modify the
// vectors.
func (e *Embedder) Vectors(ctx context.Context, texts []string) ([][]float32, error) {
	out, missing := make([][]float32, len(texts)), make(map[string]bool)
	for i, text := range texts {
		if out[i] = e.vectors.Get(text); out[i] == nil {
			missing[text] = true
		}
	}
	if len(missing) == 0 {
		return out, nil
	}
	if err := e.embed(ctx, slices.Sorted(maps.Keys(missing))); err != nil {
		return nil, err
	}
	for i, text := range texts {
		out[i] = e.vectors.Get(text)
	}
	return out, nil
}

// Prepare embeds every text that the shards of the rows will need.
func (e *Embedder) Prepare(ctx context.Context, p *part.Preparation) error {
	if err := e.read(ctx, p.Folder); err != nil || e.build.Divide != nil {
		return err
	}
	texts, err := e.texts(ctx, p)
	if err != nil {
		return err
	}
	return e.Ensure(ctx, texts, p.Progress)
}

// texts collects the texts of rows and the passages that advice shows for them.
func (e *Embedder) texts(ctx context.Context, p *part.Preparation) (map[string]bool, error) {
	var mu sync.Mutex
	texts := make(map[string]bool)
	p.Progress.Start(int64(len(p.Rows)), "instances' texts")
	defer p.Progress.Done()
	batches := p.Batches(p.Rows)
	err := parallel.First(ctx, p.Workers, len(batches), func(ctx context.Context, i int) error {
		list, err := e.textsOf(ctx, p, batches[i])
		mu.Lock()
		defer mu.Unlock()
		for _, text := range list {
			texts[text] = true
		}
		p.Progress.Add(int64(len(batches[i])))
		return err
	})
	return texts, err
}

func (e *Embedder) textsOf(ctx context.Context, p *part.Preparation, rows []int) ([]string, error) {
	batch, err := p.Load(ctx, rows)
	if err != nil {
		return nil, err
	}
	var list []string
	for n := range batch {
		list = append(list, batch[n].Text)
	}
	for _, k := range slices.Sorted(maps.Keys(e.levels)) {
		if q, ok := e.build.Levels[k].Advice.(part.ModelQuerier); ok && q.QueriesModel() {
			continue
		}
		shown, err := p.Show(ctx, k, batch)
		if err != nil {
			return nil, err
		}
		for n := range shown {
			for _, passage := range shown[n].Passages {
				list = append(list, passage.Text)
			}
		}
	}
	return list, nil
}

var _ part.Preparer = (*Embedder)(nil)
