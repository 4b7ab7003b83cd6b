package policies

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"pipe/internal/textfile"
	"pipe/pipeline/decide"
)

// errChanging means that a file is still being written.
var errChanging = errors.New("the file changed while it was read")

// open reads, checks and warms up a policy file, at prices that it must fit. It returns nil if the content is the same as that of old.
func (s *Set) open(ctx context.Context, f file, old *Policy, at *Pricing) (*Policy, error) {
	if f.err != nil {
		return nil, f.err
	}
	content, err := readWhole(f)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(append(content[:len(content):len(content)], f.encoder...))
	identity := hex.EncodeToString(sum[:])
	if old != nil && old.content == identity && old.File == f.path {
		return nil, nil
	}
	parsed, graph, err := parse(f.path, content)
	if err != nil {
		return nil, err
	}
	o := s.settings.options(f.name)
	o.Runtime = s.runtime
	encoder, err := s.encoders.lease(parsed, o, f.encoder)
	if err != nil {
		return nil, err
	}
	if encoder != nil {
		o.Shared = encoder.Encoder
	}
	r, err := decide.OpenFile(ctx, parsed, o)
	if err != nil {
		return nil, errors.Join(err, encoder.release())
	}
	p := &Policy{
		Name: f.name, Digest: r.Digest(), File: f.path, Loaded: time.Now(),
		router: r, encoder: encoder, content: identity, queues: s.queues, live: &s.live, current: &s.pricing,
	}
	p.graph = &Graph{policy: p, inputs: r.GraphInputs(), outputs: r.GraphOutputs()}
	p.leases.Store(1)
	p.live.Add(1)
	if err = p.openCascade(s.runtime, graph); err == nil {
		err = s.checkPrices(p, at)
	}
	if err == nil && s.fits != nil {
		err = s.fits(p)
	}
	if err == nil {
		_, err = p.PricesAt(at)
	}
	if err == nil {
		err = s.warmUp(ctx, p)
	}
	if err != nil {
		p.Release()
		return nil, err
	}
	return p, nil
}

// readWhole reads a file, and returns an error if it changes meanwhile.
func readWhole(f file) ([]byte, error) {
	if !f.info.Mode().IsRegular() {
		return nil, fmt.Errorf("read policy %q: not a file", f.path)
	}
	before, err := os.Stat(f.path)
	if err != nil {
		return nil, err
	}
	content, err := textfile.ReadFile(f.path, textfile.MaxModel)
	if err != nil {
		return nil, fmt.Errorf("read policy: %w", err)
	}
	after, err := os.Stat(f.path)
	if err != nil {
		return nil, err
	}
	if !(fileState{info: before}).same(after, "") || int64(len(content)) != after.Size() {
		return nil, fmt.Errorf("read policy %q: %w", f.path, errChanging)
	}
	return content, nil
}

// warmUp decides once with a new policy, on features of zeros and on an example for its encoder. A policy that fails here
// would fail for every request.
func (s *Set) warmUp(ctx context.Context, p *Policy) error {
	ctx, cancel := context.WithTimeout(ctx, s.settings.WarmUp)
	defer cancel()
	if _, err := p.Decide(ctx, nil, make([]float32, p.Info().Dim), 1); err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	var features []float32
	var err error
	switch p.Input() {
	case decide.InputText:
		features, err = p.router.EncodeTexts(ctx, []string{"What is the tallest mountain?"})
	case decide.InputImage:
		features, err = p.router.EncodeImages(ctx, [][]byte{smallImage()})
	case decide.InputRow:
		if columns := p.Columns(); len(columns) > 0 {
			features, err = p.router.EncodeRows(ctx, []map[string]string{{columns[0]: ""}})
		}
	}
	if err == nil && features != nil {
		_, err = p.Decide(ctx, nil, features, 1)
	}
	if err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	return nil
}

// smallImage returns the file of a grey image.
func smallImage() []byte {
	img := image.NewGray(image.Rect(0, 0, 64, 64))
	for i := range img.Pix {
		img.Pix[i] = 128
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err) // a buffer accepts everything
	}
	return b.Bytes()
}

// encoderIdentity returns a text that changes when the files of an encoder do. It is a digest of the content of encoder.json,
// or else of names, sizes and times of files. For a model that is not a path it is the name.
func encoderIdentity(name string) string {
	if name == "" {
		return ""
	}
	info, err := os.Stat(name)
	if err != nil {
		return name
	}
	h := sha256.New()
	if filepath.Ext(name) == ".json" {
		content, err := textfile.ReadFile(name, textfile.MaxModel)
		fmt.Fprintf(h, "%q %v\n", content, err)
		return hex.EncodeToString(h.Sum(nil))
	}
	fmt.Fprintln(h, name, info.Size(), info.ModTime().UnixNano())
	if info.IsDir() {
		_ = filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil // the encoder cannot read it either
			}
			if at, err := os.Stat(path); err == nil && !at.IsDir() {
				fmt.Fprintln(h, path, at.Size(), at.ModTime().UnixNano())
			}
			return nil
		})
	}
	return hex.EncodeToString(h.Sum(nil))
}
