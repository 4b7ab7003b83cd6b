package expert

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"

	"pipe/internal/atomicfile"
	"pipe/internal/digest"
	"pipe/internal/textfile"
)

// classWeightFile keeps the class weights of one family of prompts:
//
//	a line with the number of classes and what the weights depend on
//	weights     classes x dim float32, little endian
//	SHA-256 of the above    32 bytes
//
// The file is written atomically. One that is damaged, or was made from other
// inputs, counts as absent.
type classWeightFile struct {
	path    string
	head    []byte
	classes int
}

const (
	// classWeightFormat is part of what weights depend on.
	classWeightFormat = 1
	classWeightPrefix = "class-weights-"
)

// classWeightBasis identifies class weights by everything they depend on: the
// text encoder with its tokenizer, the names, and the templates in their order.
func classWeightBasis(encoder string, names, templates []string) string {
	return digest.Of(fmt.Appendf(nil, "format %d\nencoder %s\nnames %q\ntemplates %q\n", classWeightFormat, encoder, names, templates))
}

// newClassWeightFile returns the file in a folder for the weights of a basis.
func newClassWeightFile(folder, basis string, classes int) *classWeightFile {
	return &classWeightFile{
		path:    filepath.Join(folder, classWeightPrefix+digest.Short(basis)),
		head:    fmt.Appendf(nil, "pipe class weights %d, %d classes, of %s\n", classWeightFormat, classes, basis),
		classes: classes,
	}
}

// Read returns the weights, nil if there is no matching file. dim is the length of
// a class's weights.
func (f *classWeightFile) Read(dim int) ([]float32, error) {
	b, err := textfile.ReadFile(f.path, textfile.MaxWhole)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if len(b) != len(f.head)+4*f.classes*dim+sha256.Size || !bytes.HasPrefix(b, f.head) {
		return nil, nil
	}
	body, sum := b[:len(b)-sha256.Size], b[len(b)-sha256.Size:]
	if has := sha256.Sum256(body); !bytes.Equal(sum, has[:]) {
		return nil, nil
	}
	weights := make([]float32, f.classes*dim)
	for i := range weights {
		weights[i] = math.Float32frombits(binary.LittleEndian.Uint32(body[len(f.head)+4*i:]))
	}
	return weights, nil
}

// Write writes weights.
func (f *classWeightFile) Write(weights []float32) error {
	return atomicfile.WriteFile(f.path, f.bytes(weights))
}

// bytes returns the contents of the file.
func (f *classWeightFile) bytes(weights []float32) []byte {
	b := bytes.Clone(f.head)
	for _, w := range weights {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(w))
	}
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}
