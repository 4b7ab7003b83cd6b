package build

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"pipe/costs/builder/part"
	"pipe/featurize"
	"pipe/internal/digest"
	"pipe/internal/parallel"
	"pipe/onnx/ort"
)

// embedder gives texts their vectors, each of which is computed once: all that a
// build needs before its shards are made, and the rest when they are asked for.
// The vectors lie in the folder of experts, and in memory from the first call of
// open on: 75,000 texts of 384 numbers are 115 MB. It is safe for concurrent use
// once it is open.
type embedder struct {
	part.TextEncoder
	build   *part.Build
	levels  map[int]bool // of advice, whose passages parts of the build embed
	vectors *vectorFile  // nil until open
}

// encoderSettings name the encoder of a part.
type encoderSettings struct {
	Encoder part.Path `json:"encoder"` // a folder, an .onnx file, or org/name in the local Hugging Face cache
}

// openEmbedder returns the embedder of an encoder, which parts that name the same
// share, and makes the encoder a model of the part in the making. The texts of
// all instances, and the passages that the given levels of advice show, will be
// embedded before they are asked for. The build closes it.
func openEmbedder(s *part.Setup, name part.Path, levels ...int) (*embedder, error) {
	if name == "" {
		return nil, errors.New("encoder: none is named")
	}
	path := s.ModelPath(name)
	e, err := part.Shared(s.Build, path, func() (*embedder, error) { return newEmbedder(s.Build, path) })
	if err != nil {
		return nil, err
	}
	for _, k := range levels {
		e.levels[k] = true
	}
	s.Input("model", e.Digest())
	return e, nil
}

func newEmbedder(b *part.Build, path string) (*embedder, error) {
	rt, err := b.Runtime()
	if err != nil {
		return nil, err
	}
	open := b.OpenText
	if open == nil {
		open = openTextEncoder
	}
	encoder, err := open(rt, path)
	if err != nil {
		return nil, fmt.Errorf("encoder: %w", err)
	}
	return &embedder{TextEncoder: encoder, build: b, levels: make(map[int]bool)}, nil
}

// openTextEncoder opens an encoder that featurize knows.
func openTextEncoder(rt *ort.Runtime, name string) (part.TextEncoder, error) {
	return featurize.OpenTextEncoder(rt, name, featurize.DefaultTextEncoderOptions())
}

// open reads the vectors that are there.
func (e *embedder) open(ctx context.Context, folder string) (err error) {
	name := "embeddings-" + digest.Short(e.Digest())
	e.vectors, err = openVectors(ctx, filepath.Join(folder, name), e.Digest(), e.Dim())
	return err
}

// embedRows is how many texts are embedded between two appends: what a kill can
// cost.
const embedRows = 512

// Ensure embeds those of the texts that have no vector yet, short ones first.
func (e *embedder) Ensure(ctx context.Context, texts map[string]bool, progress part.Progress) error {
	missing := slices.SortedFunc(maps.Keys(texts), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
	missing = slices.DeleteFunc(missing, func(text string) bool { return e.vectors.Get(text) != nil })
	if len(missing) == 0 {
		return ctx.Err()
	}
	progress.Start(int64(len(missing)), "texts to embed")
	defer progress.Done()
	for some := range slices.Chunk(missing, embedRows) {
		if err := e.embed(ctx, some); err != nil {
			return err
		}
		progress.Add(int64(len(some)))
	}
	return e.vectors.Sync(ctx)
}

func (e *embedder) embed(ctx context.Context, texts []string) error {
	values := make([]float32, len(texts)*e.Dim())
	if err := e.Encode(ctx, values, texts); err != nil {
		return fmt.Errorf("embed texts: %w", err)
	}
	return e.vectors.Add(ctx, texts, values)
}

// Vectors returns the vector of every text. The caller does not change them.
func (e *embedder) Vectors(ctx context.Context, texts []string) ([][]float32, error) {
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

// Prepare gives every text that the shards of the rows will ask for its vector.
func (e *embedder) Prepare(ctx context.Context, p *part.Preparation) error {
	if err := e.open(ctx, p.Folder); err != nil {
		return err
	}
	texts, err := e.texts(ctx, p)
	if err != nil {
		return err
	}
	return e.Ensure(ctx, texts, p.Progress)
}

// texts collects the texts of rows and the passages that advice shows of them.
func (e *embedder) texts(ctx context.Context, p *part.Preparation) (map[string]bool, error) {
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

func (e *embedder) textsOf(ctx context.Context, p *part.Preparation, rows []int) ([]string, error) {
	batch, err := p.Load(ctx, rows)
	if err != nil {
		return nil, err
	}
	var list []string
	for n := range batch {
		list = append(list, batch[n].Text)
	}
	for _, k := range slices.Sorted(maps.Keys(e.levels)) {
		if q, ok := e.build.Levels[k].Advice.(part.Queried); ok && q.Queried() {
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

var _ part.Preparer = (*embedder)(nil)
