package decide

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"pipe/featurize"
	"pipe/internal/storage"
	"pipe/models/policy"
	"pipe/onnx"
)

// The methods in this file are for servers, which compute features apart from decisions, and decide on many requests at
// once.

// Ask is one of several calls that decide together.
type Ask = policy.Ask

// Together decides on the rows of several calls in one run; see [policy.Decider.DecideTogether]. Prices of an Ask that is
// not of an any-price policy are an error: what such a policy must not choose is masked in its answer.
func (r *Router) Together(ctx context.Context, asks []*Ask) {
	if err := r.ready(); err != nil {
		for _, a := range asks {
			a.Answer, a.Err = nil, err
		}
		return
	}
	r.decider.DecideTogether(ctx, asks)
}

// At prepares a call for other prices: nil are those of the file. finish, if it is not nil, is called with the answer.
func (r *Router) At(at *policy.Prices) (prices []*policy.Prices, finish func(*policy.Decisions) error) {
	switch {
	case at == nil:
		return nil, nil
	case r.file.Info.Prices != nil:
		return []*policy.Prices{at}, nil
	case slices.Equal(at.Available, r.file.Info.Actions.Mask()):
		return nil, nil
	}
	return nil, func(d *policy.Decisions) error {
		if err := d.Masked(at.Available); err != nil {
			return fmt.Errorf("decide: %w", err)
		}
		return nil
	}
}

// EncodeTexts computes the policy's features of texts, n x Dim. The errors are those of Texts.
func (r *Router) EncodeTexts(ctx context.Context, texts []string) ([]float32, error) {
	return r.features(ctx, InputText, len(texts), func(dst []float32) error {
		if err := checkTexts(texts); err != nil {
			return err
		}
		return r.vectors.field(storage.Location{})(ctx, dst, texts)
	})
}

// EncodeImages computes the policy's features of images, given the bytes of their files, n x Dim. The errors are those of
// Images.
func (r *Router) EncodeImages(ctx context.Context, files [][]byte) ([]float32, error) {
	return r.features(ctx, InputImage, len(files), func(dst []float32) error {
		return r.vectors.(*imageEncoder).encodeFiles(ctx, dst, len(files), func(i int) ([]byte, error) { return files[i], nil })
	})
}

// Prepared are texts or images as the graph of an encoder takes them: token ids or pixels.
type Prepared struct {
	n      int
	tokens featurize.Tokens
	pixels [][]uint8
}

// Rows is the number of texts or images.
func (p *Prepared) Rows() int { return p.n }

// Length is the number of tokens of the first text; 0 for images.
func (p *Prepared) Length() int {
	if len(p.tokens) == 0 {
		return 0
	}
	return len(p.tokens[0].IDs)
}

// ImageTokens is how many tokens an image counts as.
const ImageTokens = 64

// Tokens is the amount of work in all texts or images, in tokens. An image counts as ImageTokens.
func (p *Prepared) Tokens() (n int) {
	for _, t := range p.tokens {
		n += len(t.IDs)
	}
	return n + ImageTokens*len(p.pixels)
}

// Part are some of the rows of a Prepared.
type Part struct {
	*Prepared
	At []int // positions of its rows; nil: it is everything, in its order
}

// Parts splits texts or images into parts with at most these rows and tokens, but at least one row each. The texts of a part
// have the same number of tokens, because only such texts gain from running together.
func (p *Prepared) Parts(rows, tokens int) []Part {
	order := make([]int, p.n)
	for i := range order {
		order[i] = i
	}
	size := func(i int) int {
		if p.tokens == nil {
			return ImageTokens
		}
		return len(p.tokens[i].IDs)
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(size(i), size(j)) })
	var parts []Part
	for len(order) > 0 {
		each, n := size(order[0]), 1
		for most := min(rows, tokens/each, len(order)); n < most && size(order[n]) == each; {
			n++
		}
		parts = append(parts, p.part(order[:n:n]))
		order = order[n:]
	}
	if len(parts) == 1 {
		return []Part{{Prepared: p}}
	}
	return parts
}

// part are the rows at some positions.
func (p *Prepared) part(at []int) Part {
	some := &Prepared{n: len(at)}
	for _, i := range at {
		if p.tokens != nil {
			some.tokens = append(some.tokens, p.tokens[i])
		} else {
			some.pixels = append(some.pixels, p.pixels[i])
		}
	}
	return Part{some, at}
}

// PrepareTexts makes token ids for EncodePrepared. The errors are those of Texts.
func (r *Router) PrepareTexts(ctx context.Context, texts []string) (*Prepared, error) {
	if err := r.takes(InputText); err != nil {
		return nil, err
	}
	err := checkTexts(texts)
	p := &Prepared{n: len(texts)}
	if err == nil {
		p.tokens, err = r.vectors.(*textEncoder).Tokens(ctx, texts)
	}
	if err != nil {
		return nil, fmt.Errorf("decide: %w", rowOfText(err))
	}
	return p, nil
}

// PrepareImages makes pixels of the bytes of files for EncodePrepared. The errors are those of Images.
func (r *Router) PrepareImages(ctx context.Context, files [][]byte) (*Prepared, error) {
	if err := r.takes(InputImage); err != nil {
		return nil, err
	}
	p := &Prepared{n: len(files), pixels: make([][]uint8, len(files))}
	for i, file := range files {
		err := ctx.Err()
		if err == nil {
			if p.pixels[i], err = r.vectors.(*imageEncoder).Pixels(file); err != nil {
				err = &RowError{Row: i, Err: err}
			}
		}
		if err != nil {
			return nil, fmt.Errorf("decide: %w", err)
		}
	}
	return p, nil
}

// EncodePrepared computes the policy's features of several parts together, n x Dim, in their order. All are of the router's
// kind of input, and one at least has rows. A vector that is not finite is a *RowError.
func (r *Router) EncodePrepared(ctx context.Context, parts ...*Prepared) ([]float32, error) {
	if err := r.ready(); err != nil {
		return nil, err
	}
	all := parts[0]
	if len(parts) > 1 {
		all = &Prepared{}
		for _, p := range parts {
			all.n, all.tokens, all.pixels = all.n+p.n, append(all.tokens, p.tokens...), append(all.pixels, p.pixels...)
		}
	}
	features := make([]float32, all.n*r.file.Info.Dim)
	var err error
	switch e := r.vectors.(type) {
	case *textEncoder:
		err = rowOfText(e.EncodeTokens(ctx, features, all.tokens))
	case *imageEncoder:
		err = rowOfImage(e.EncodePixels(ctx, features, all.n, func(dst []uint8, i int) error {
			copy(dst, all.pixels[i])
			return nil
		}))
	default:
		err = errors.New("the router encodes neither texts nor images")
	}
	if err != nil {
		return nil, fmt.Errorf("decide: %w", err)
	}
	return features, nil
}

// GraphInputs lists the inputs of the policy file: those of the encoder in front, or else features and, of an any-price
// policy, prices.
func (r *Router) GraphInputs() []onnx.IO {
	if r.HasEncoder() {
		return r.file.encoder.Inputs()
	}
	return r.file.model.Inputs()
}

// GraphOutputs lists the outputs of the policy file.
func (r *Router) GraphOutputs() []onnx.IO { return r.file.model.Outputs() }

// HasEncoder reports whether the encoder is in front of the policy, in the same file.
func (r *Router) HasEncoder() bool { return r.file.encoder != nil }

// EncodeTensors computes the policy's features by the encoder in front from the inputs of its graph, such as token ids, n
// x Dim. A bad row is a *RowError.
func (r *Router) EncodeTensors(ctx context.Context, in map[string]*onnx.Tensor) ([]float32, error) {
	if err := r.ready(); err != nil {
		return nil, err
	}
	e, ok := r.vectors.(interface {
		EncodeTensors(ctx context.Context, in map[string]*onnx.Tensor) ([]float32, error)
	})
	if !ok || !r.HasEncoder() {
		return nil, &InputError{Takes: r.input, Given: "token"}
	}
	features, err := e.EncodeTensors(ctx, in)
	if bad, ok := errors.AsType[*featurize.RowError](err); ok {
		err = fmt.Errorf("decide: %w", &RowError{Row: bad.Row, Err: bad.Err})
	}
	return features, err
}
