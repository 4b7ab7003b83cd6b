package ort

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"pipe/onnx"
)

// header is the part of a model file that is needed before a session is created. It is read without loading the
// weights, because the binding needs the names up front and reports neither symbolic dimensions nor scalars.
type header struct {
	inputs   []onnx.IO
	outputs  []onnx.IO
	unranked map[string]bool // values whose rank is not in the file
}

// Field numbers of the messages in onnx.proto.
const (
	modelGraph                          = 7
	graphInit, graphSparse              = 5, 15
	graphInput, graphOutput             = 11, 12
	tensorName, sparseValues            = 8, 1
	infoName, infoType                  = 1, 2
	typeTensor, tensorElem, tensorShape = 1, 1, 2
	shapeDim, dimValue, dimParam        = 1, 1, 2
)

// readHeader scans a model of size bytes.
func readHeader(r io.Reader, size int64) (*header, error) {
	h := &header{unranked: map[string]bool{}}
	s := &scanner{r: bufio.NewReader(r)}
	s.seek, _ = r.(io.Seeker)
	weights := map[string]bool{}
	seen := false
	err := s.fields(size, func(num protowire.Number, n int64) error {
		if num != modelGraph {
			return s.skip(n)
		}
		seen = true
		return h.readGraph(s, n, weights)
	})
	if err != nil {
		return nil, err
	}
	if !seen {
		return nil, errors.New("not an ONNX model: it has no graph")
	}
	h.dropWeights(weights)
	return h, nil
}

// dropWeights removes inputs that only name an initializer, as listed in files of IR versions before 4.
func (h *header) dropWeights(weights map[string]bool) {
	h.inputs = slices.DeleteFunc(h.inputs, func(in onnx.IO) bool { return weights[in.Name] })
}

func (h *header) readGraph(s *scanner, n int64, weights map[string]bool) error {
	return s.fields(n, func(num protowire.Number, n int64) error {
		switch num {
		case graphInit:
			return addTensorName(s, n, weights)
		case graphSparse:
			return s.fields(n, func(num protowire.Number, n int64) error {
				if num == sparseValues {
					return addTensorName(s, n, weights)
				}
				return s.skip(n)
			})
		case graphInput:
			return h.readInfo(s, n, &h.inputs)
		case graphOutput:
			return h.readInfo(s, n, &h.outputs)
		}
		return s.skip(n)
	})
}

// addTensorName adds the name of a tensor message of n bytes to names.
func addTensorName(s *scanner, n int64, names map[string]bool) error {
	return s.fields(n, func(num protowire.Number, n int64) error {
		if num != tensorName {
			return s.skip(n)
		}
		b, err := s.bytes(n)
		names[string(b)] = true
		return err
	})
}

func (h *header) readInfo(s *scanner, n int64, dst *[]onnx.IO) error {
	b, err := s.bytes(n)
	if err != nil {
		return err
	}
	var io onnx.IO
	ranked := false
	err = eachField(b, func(num protowire.Number, v []byte, _ uint64) error {
		switch num {
		case infoName:
			io.Name = string(v)
		case infoType:
			return eachField(v, func(num protowire.Number, v []byte, _ uint64) (err error) {
				if num == typeTensor {
					ranked, err = readTensorType(v, &io)
				}
				return err
			})
		}
		return nil
	})
	h.unranked[io.Name] = !ranked
	*dst = append(*dst, io)
	return err
}

func readTensorType(b []byte, io *onnx.IO) (ranked bool, err error) {
	err = eachField(b, func(num protowire.Number, v []byte, x uint64) error {
		switch num {
		case tensorElem:
			io.DType = onnx.DType(x)
		case tensorShape:
			ranked = true
			return eachField(v, func(num protowire.Number, v []byte, _ uint64) error {
				if num != shapeDim {
					return nil
				}
				// An axis without size and name gets a unique name, because equal names mean equal sizes.
				dim := onnx.Dim{Name: fmt.Sprintf("%s.%d", io.Name, len(io.Shape))}
				err := readDim(v, &dim)
				io.Shape = append(io.Shape, dim)
				return err
			})
		}
		return nil
	})
	return ranked, err
}

func readDim(b []byte, dim *onnx.Dim) error {
	return eachField(b, func(num protowire.Number, v []byte, x uint64) error {
		switch {
		case num == dimValue && int64(x) >= 0: // a negative size leaves the axis open
			*dim = onnx.Dim{Size: int64(x)}
		case num == dimParam && len(v) > 0:
			*dim = onnx.Dim{Name: string(v)}
		}
		return nil
	})
}

// eachField calls f for every field of a message held in memory: v is set for
// length-delimited fields, x for varints.
func eachField(b []byte, f func(num protowire.Number, v []byte, x uint64) error) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errMalformed
		}
		b = b[n:]
		var v []byte
		var x uint64
		switch typ {
		case protowire.BytesType:
			v, n = protowire.ConsumeBytes(b)
		case protowire.VarintType:
			x, n = protowire.ConsumeVarint(b)
		default:
			n = protowire.ConsumeFieldValue(num, typ, b)
		}
		if n < 0 {
			return errMalformed
		}
		b = b[n:]
		if err := f(num, v, x); err != nil {
			return fmt.Errorf("field %d: %w", num, err)
		}
	}
	return nil
}
