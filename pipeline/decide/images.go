package decide

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"pipe/featurize"
	"pipe/featurize/pixel"
	"pipe/onnx"
	"pipe/onnx/ort"
)

// imageBatch is how many images are decoded and encoded between two deliveries of vectors.
const imageBatch = 256

// imageRows encodes images, which rows name by path.
type imageRows struct {
	encoder *featurize.ImageEncoder
	column  string
	folder  string // of relative paths
	decoder pixel.Decoder
	limits  pixel.Limits
	gate    *pixel.Gate // images that are decoded, until the encoder's pixels are made of them
}

func openImageRows(rt *ort.Runtime, o StreamOptions, inside *onnx.Model, done *Summary) (rowEncoder, error) {
	decoder, err := pixel.OpenDecoder(o.Decoder)
	if err != nil {
		return nil, err
	}
	e, err := openImageEncoder(rt, o, inside)
	if err != nil {
		return nil, err
	}
	done.Decoder = decoder.Name()
	m := &imageRows{encoder: e, column: o.Image, decoder: decoder, limits: pixel.DefaultLimits(), gate: pixel.NewGate(pixel.MostAtOnce)}
	if o.In != "-" {
		m.folder = filepath.Dir(o.In)
	}
	return m, nil
}

// openImageEncoder opens the model inside of the policy, if there is one, else the encoder that the options name.
func openImageEncoder(rt *ort.Runtime, o StreamOptions, inside *onnx.Model) (*featurize.ImageEncoder, error) {
	if inside == nil {
		return featurize.OpenImageEncoder(rt, o.Encoder, featurize.DefaultImageModelOptions(), o.Workers)
	}
	m, err := featurize.ParseImageModel(inside)
	if err != nil {
		return nil, err
	}
	return m.Open(rt, o.Workers)
}

func (m *imageRows) info() featurize.EncoderInfo {
	e := m.encoder
	return featurize.EncoderInfo{Input: featurize.InputImage, Name: e.Name(), Dim: e.Dim(), Digest: e.Digest()}
}

func (m *imageRows) field() string { return m.column }
func (m *imageRows) batch() int    { return imageBatch }
func (m *imageRows) close()        { _ = m.encoder.Close() } // nothing was written

// encode decodes images side by side; the first row in the file that has a bad one is the error.
func (m *imageRows) encode(ctx context.Context, dst []float32, rows []encodedRow) error {
	err := m.encoder.EncodePixels(ctx, dst, len(rows), func(dst []uint8, i int) error { return m.pixels(dst, rows[i].value) })
	var bad *featurize.ImageError
	if errors.As(err, &bad) {
		return &rowError{bad.Index, fmt.Errorf("image %q: %w", rows[bad.Index].value, bad.Err)}
	}
	return err
}

// pixels writes what the encoder sees of an image that keeps the limits.
func (m *imageRows) pixels(dst []uint8, path string) error {
	b, err := m.read(path)
	if err != nil {
		return err
	}
	if err := m.limits.Check(b); err != nil {
		return err
	}
	width, height, err := pixel.Size(b)
	if err != nil {
		return err
	}
	m.gate.Enter(width * height)
	defer m.gate.Leave(width * height)
	img, err := m.decoder.Decode(b)
	if err != nil {
		return err
	}
	prepared, err := m.encoder.Preprocess().Prepare(img, []pixel.View{pixel.Centre()})
	if err != nil {
		return err
	}
	return prepared.Pixels(dst, pixel.Centre())
}

// read returns the file of an image.
func (m *imageRows) read(path string) ([]byte, error) {
	if path == "" {
		return nil, errors.New("is an empty path")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(m.folder, path)
	}
	b, err := m.limits.ReadFile(path)
	var at *fs.PathError
	if errors.As(err, &at) {
		return nil, at.Err // the path is told already
	}
	return b, err
}
