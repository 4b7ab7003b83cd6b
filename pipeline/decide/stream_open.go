package decide

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"pipe/costs"
	"pipe/featurize"
	"pipe/internal/storage"
	"pipe/onnx/ort"
	"pipe/pipeline/stage"
)

// openFor opens the policy and the encoder that the options name. Options that do not match them are an
// *stage.OptionError.
func openFor(ctx context.Context, rt *ort.Runtime, o StreamOptions) (*Router, error) {
	f, err := ReadPolicy(ctx, o.Policy)
	if err != nil {
		return nil, err
	}
	if err := o.checkPolicy(f); err != nil {
		return nil, err
	}
	r, err := open(ctx, rt, f, o.input(), Options{Encoder: o.Encoder, Decoder: o.Decoder, Workers: o.Workers, Prices: o.Prices, PriceFile: o.PriceFile})
	if err == nil || f.encoder != nil || !o.encoded() {
		return r, err
	}
	if reads, failed := featurize.EncoderInputs(o.Encoder); failed == nil && !slices.Contains(reads, o.input()) {
		err = &stage.OptionError{Err: fmt.Errorf("encoder %q reads %ss, the rows contain %ss", o.Encoder, reads[0], o.input())}
	}
	return nil, err
}

// checkPolicy checks the options about raw rows against the inputs of the policy.
func (o StreamOptions) checkPolicy(f *PolicyFile) error {
	bad := func(format string, args ...any) error {
		return &stage.OptionError{Err: fmt.Errorf("policy %q: %w", f.path, fmt.Errorf(format, args...))}
	}
	switch {
	case f.encoder == nil && o.encoded() && o.Encoder == "":
		return bad("has no encoder in front: texts and images need an encoder (--encoder)")
	case f.encoder == nil:
		return nil
	case o.Encoder != "":
		return bad("has its encoder in front: another one cannot be used (leave out --encoder)")
	case !o.encoded():
		return bad("has an encoder in front and reads %ss: name the column or field that contains them (--%s)", f.About.Input, f.About.Input)
	case f.About.Input != o.input():
		return bad("has an encoder of %ss in front, the rows contain %ss", f.About.Input, o.input())
	}
	return nil
}

// openRows opens features, or raw rows if the policy has an encoder for them, and records its findings in done.
func openRows(ctx context.Context, r *Router, o StreamOptions, stdin io.Reader, done *Summary) (src featureSource, err error) {
	in := rowFile{path: o.In, format: o.InFormat, stdin: stdin}
	switch {
	case o.encoded():
		e := fieldEncoder{input: o.input(), field: o.field(), dim: r.vectors.Dim(), encode: r.vectors.field(in.folder())}
		e.most = min(cmp.Or(r.vectors.most(), mostRows), batchRows(e.dim, r.Info().Actions.Len()))
		if images, ok := r.vectors.(*imageEncoder); ok {
			done.noteDecoder(images.Decoder(), r.Info().Actions)
		}
		return openEncoded(ctx, in, e)
	case r.table != nil:
		src, done.Absent, err = openRaw(ctx, in, r.table, r.Info().Actions.Len())
		return src, err
	}
	return openFeatures(ctx, in, r.Info())
}

// noteDecoder records the decoder of the images, and that of the training images if it is another.
func (s *Summary) noteDecoder(name string, a *costs.Actions) {
	s.Decoder = name
	if was := a.Digests[costs.DecoderDigest]; was != "" && was != name {
		s.Trained = was
	}
}

// folder is where relative paths in the rows start.
func (in rowFile) folder() storage.Location {
	if in.path.String() == "-" {
		return storage.Location{}
	}
	return in.path.Dir()
}
