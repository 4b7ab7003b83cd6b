package imports

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"pipe/costs/outcome"
	"pipe/featurize"
	"pipe/featurize/pixel"
	"pipe/internal/digest"
	"pipe/internal/parallel"
	"pipe/internal/storage"
	"pipe/onnx/ort"
	"pipe/pipeline/stage"
)

// imageFiles makes an encoder of images usable where texts are encoded. The text for an image is the digest of its file and the
// name of the decoder, so its vector is found again wherever the file lies.
type imageFiles struct {
	*featurize.ImageEncoder
	files *featurize.ImageFiles
	first map[string]int // key of an image -> position of its first path
	paths []string
}

func openImageFiles(rt *ort.Runtime, name, decoder string) (*imageFiles, error) {
	d, err := pixel.OpenDecoder(decoder)
	if err != nil {
		return nil, err
	}
	e, err := featurize.OpenImageEncoder(rt, name, featurize.DefaultImageModelOptions(), 0)
	if err != nil {
		return nil, err
	}
	return &imageFiles{ImageEncoder: e, files: featurize.NewImageFiles(e, d)}, nil
}

// keys returns the texts for the images at the paths. A file that cannot be read is an *outcome.BadValueError.
func (f *imageFiles) keys(ctx context.Context, paths []string, progress stage.Progress) ([]string, error) {
	progress.Start(int64(len(paths)), "images to read")
	defer progress.Done()
	keys := make([]string, len(paths))
	err := parallel.First(ctx, runtime.GOMAXPROCS(0), len(paths), func(ctx context.Context, i int) error {
		b, err := f.read(ctx, paths[i])
		if err != nil {
			return &outcome.BadValueError{Index: i, Err: err}
		}
		keys[i] = f.key(b)
		progress.Add(1)
		return nil
	})
	if err != nil {
		return nil, err
	}
	f.paths, f.first = paths, make(map[string]int)
	for i, key := range keys {
		if _, ok := f.first[key]; !ok {
			f.first[key] = i
		}
	}
	return keys, nil
}

// read reads the file of a path or URL.
func (f *imageFiles) read(ctx context.Context, pathOrURL string) ([]byte, error) {
	at, err := storage.Parse(pathOrURL)
	if err != nil {
		return nil, err
	}
	return f.files.ReadFile(ctx, at)
}

// key is the text for the image in a file.
func (f *imageFiles) key(file []byte) string { return f.files.Decoder() + " " + digest.Of(file) }

// Encode writes the vectors of images of the last keys. An image that cannot be encoded is an *outcome.BadValueError.
func (f *imageFiles) Encode(ctx context.Context, dst []float32, keys []string) error {
	err := f.files.EncodeFiles(ctx, dst, len(keys), func(i int) ([]byte, error) {
		b, err := f.read(ctx, f.paths[f.first[keys[i]]])
		if err == nil && f.key(b) != keys[i] {
			err = errors.New("the file has changed during the import")
		}
		return b, err
	})
	if bad, ok := errors.AsType[*featurize.ImageError](err); ok {
		return &outcome.BadValueError{Index: f.first[keys[bad.Index]], Err: bad.Err}
	}
	if err != nil {
		return fmt.Errorf("images: %w", err)
	}
	return nil
}
