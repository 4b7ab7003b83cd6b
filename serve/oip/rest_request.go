package oip

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// maxTensors is the most inputs, or outputs, of a request. A policy has far fewer.
const maxTensors = 64

// maxRank is the most axes of a shape.
const maxRank = 16

var decoders = sync.Pool{New: func() any { return jsontext.NewDecoder(bytes.NewReader(nil)) }}

// readRequest reads the body of a REST request: JSON of headerLength bytes, followed by binary tensors. headerLength is -1
// if the body is only JSON. Tensors share the memory of body.
func readRequest(r *request, body []byte, headerLength int) error {
	header, rest := body, []byte(nil)
	if headerLength >= 0 {
		if headerLength > len(body) {
			return problemf(invalid, "Inference-Header-Content-Length is %d, but the body has %d bytes", headerLength, len(body))
		}
		header, rest = body[:headerLength], body[headerLength:]
	}
	header = bytes.TrimPrefix(header, []byte("\ufeff")) // the byte order mark that some programs write
	if left, lists := cutLists(header); lists != nil {
		q := *r
		if readHeader(&q, left, rest, lists) == nil {
			*r = q
			return nil
		}
	}
	return readHeader(r, header, rest, nil)
}

// readHeader reads the JSON of a request. lists are the lists that were cut out of it; nil: none.
func readHeader(r *request, header, rest []byte, lists []cutList) error {
	p := restReader{request: r, body: header, rest: rest, cut: lists != nil, lists: lists, json: decoders.Get().(*jsontext.Decoder)}
	p.json.Reset(bytes.NewBuffer(header))
	err := p.object("", p.field)
	if err == nil {
		err = p.end()
	}
	p.json.Reset(bytes.NewReader(nil))
	decoders.Put(p.json)
	switch {
	case err != nil:
		return restProblem(err)
	case len(p.lists) > 0:
		return errNotCut
	case !p.hasInputs:
		return problemf(invalid, "the request has no inputs")
	case len(p.rest) > 0:
		return problemf(invalid, "%d bytes of binary data are left after the tensors of the request", len(p.rest))
	}
	return nil
}

// restProblem adds the position to a JSON error.
func restProblem(err error) error {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	var syntax *jsontext.SyntacticError
	if !errors.As(err, &syntax) {
		return problemf(invalid, "read JSON: %v", err)
	}
	text := strings.TrimPrefix(syntax.Err.Error(), "jsontext: ")
	if errors.Is(syntax.Err, io.ErrUnexpectedEOF) {
		text = "it ends early"
	}
	return problemf(invalid, "read JSON: byte %d: %s", syntax.ByteOffset, text)
}

// restReader reads the JSON of a request.
type restReader struct {
	request   *request
	body      []byte
	rest      []byte // binary data that no tensor has taken yet
	json      *jsontext.Decoder
	hasInputs bool
	cut       bool      // lists were cut out of the body
	lists     []cutList // that no tensor has taken yet
}

func (p *restReader) end() error {
	if _, err := p.json.ReadToken(); err == nil {
		return problemf(invalid, "something follows the JSON of the request; binary data needs the header Inference-Header-Content-Length")
	} else if err != io.EOF {
		return err
	}
	return nil
}

// object reads an object, and calls field for each of its names. where is the path for error messages.
func (p *restReader) object(where string, field func(name string) error) error {
	if err := p.begin(where, '{', "an object"); err != nil {
		return err
	}
	for p.json.PeekKind() != '}' {
		t, err := p.json.ReadToken()
		if err != nil {
			return err
		}
		if err := field(t.String()); err != nil {
			return err
		}
	}
	_, err := p.json.ReadToken()
	return err
}

// list reads a list of at most most entries, and calls entry for each.
func (p *restReader) list(where string, most int, entry func(i int) error) error {
	if err := p.begin(where, '[', "a list"); err != nil {
		return err
	}
	for i := 0; p.json.PeekKind() != ']'; i++ {
		if i == most {
			return problemf(invalid, "%s has more than %d entries", where, most)
		}
		if err := entry(i); err != nil {
			return err
		}
	}
	_, err := p.json.ReadToken()
	return err
}

func (p *restReader) begin(where string, want jsontext.Kind, what string) error {
	t, err := p.json.ReadToken()
	if err == io.EOF {
		return problemf(invalid, "the request is empty, not a JSON object")
	}
	if err != nil {
		return err
	}
	if t.Kind() != want {
		return p.wrong(where, what)
	}
	return nil
}

func (p *restReader) wrong(where, want string) error {
	if where == "" {
		where = "the request"
	}
	return problemf(invalid, "%s is not %s", where, want)
}

func (p *restReader) text(where string) (string, error) {
	t, err := p.json.ReadToken()
	if err != nil {
		return "", err
	}
	if t.Kind() != '"' {
		return "", p.wrong(where, "a text")
	}
	return t.String(), nil
}

// field reads a field of the request.
func (p *restReader) field(name string) (err error) {
	r := p.request
	switch name {
	case "id":
		r.id, err = p.text("id")
	case "model_name": // the client of KServe sends it
		var model string
		if model, err = p.text(name); err == nil && model != r.model {
			err = problemf(invalid, "model_name is %q, but the address says %q", model, r.model)
		}
	case "parameters":
		err = p.parameters("parameters", r.parameter)
	case "inputs":
		p.hasInputs = true
		err = p.list("inputs", maxTensors, p.input)
	case "outputs":
		err = p.list("outputs", maxTensors, p.output)
	default:
		err = p.json.SkipValue()
	}
	return err
}

// parameters reads the parameters of a request or a tensor.
func (p *restReader) parameters(where string, use func(name string, value parameter) error) error {
	return p.object(where, func(name string) error {
		t, err := p.json.ReadToken()
		if err != nil {
			return err
		}
		var value parameter
		switch t.Kind() {
		case '"':
			value = t.String()
		case 't', 'f':
			value = t.Bool()
		case '0':
			if value, err = number(t.String()); err != nil {
				return problemf(invalid, "%s: %s: %v", where, name, err)
			}
		default:
			return problemf(invalid, "%s: %s is not a string, a number, true or false", where, name)
		}
		return use(name, value)
	})
}

// number returns an int64 if the number is one, and else a float64.
func number(text string) (parameter, error) {
	if v, err := strconv.ParseInt(text, 10, 64); err == nil {
		return v, nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, fmt.Errorf("%s is too large", text)
	}
	return v, nil
}

// input reads an input.
func (p *restReader) input(i int) error {
	var in tensor
	where := "inputs[" + strconv.Itoa(i) + "]"
	binary, hasShape := int64(-1), false
	err := p.object(where, func(name string) (err error) {
		switch name {
		case "name":
			in.name, err = p.text(where + ".name")
		case "datatype":
			in.datatype, err = p.text(where + ".datatype")
		case "shape":
			hasShape = true
			in.shape, err = p.shape(where + ".shape")
		case "data":
			in.elements, err = p.data()
		case "parameters":
			err = p.parameters(where+".parameters", func(name string, value parameter) error {
				if name != "binary_data_size" {
					return checkParameter(where, name, value)
				}
				size, ok := value.(int64)
				if !ok || size < 0 {
					return problemf(invalid, "%s: binary_data_size is %v, not a number of bytes", where, value)
				}
				binary = size
				return nil
			})
		default:
			err = p.json.SkipValue()
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case in.name == "":
		return problemf(invalid, "%s has no name", where)
	case in.datatype == "":
		return problemf(invalid, "input %q has no datatype", in.name)
	case !hasShape:
		return problemf(invalid, "input %q has no shape", in.name)
	}
	if err := p.binary(&in, binary); err != nil {
		return err
	}
	p.request.inputs = append(p.request.inputs, in)
	return nil
}

// binary assigns its binary data to an input, if it has any. size is their number of bytes, or -1.
func (p *restReader) binary(in *tensor, size int64) error {
	switch {
	case size < 0 && in.elements == nil:
		return problemf(invalid, "input %q has no data", in.name)
	case size < 0:
		return nil
	case in.elements != nil:
		return problemf(invalid, "input %q has both data and binary_data_size", in.name)
	case p.rest == nil:
		return problemf(invalid, "input %q has binary_data_size, but the request has no header Inference-Header-Content-Length", in.name)
	case size > int64(len(p.rest)):
		return problemf(invalid, "input %q has %d bytes of binary data by its binary_data_size, but the body has only %d left", in.name, size, len(p.rest))
	}
	in.elements, p.rest = rawElements(p.rest[:size]), p.rest[size:]
	return nil
}

func (p *restReader) shape(where string) ([]int64, error) {
	shape := make([]int64, 0, 4)
	err := p.list(where, maxRank, func(int) error {
		t, err := p.json.ReadToken()
		if err != nil {
			return err
		}
		size := int64(-1)
		if t.Kind() == '0' {
			if size, err = strconv.ParseInt(t.String(), 10, 64); err != nil {
				size = -1
			}
		}
		if size < 0 {
			return p.wrong(where, "a list of sizes, which are whole numbers of at least 0")
		}
		shape = append(shape, size)
		return nil
	})
	return shape, err
}

// data reads the value of "data", which shares the memory of the body. null counts as absent.
func (p *restReader) data() (elements, error) {
	v, err := p.json.ReadValue()
	if err != nil || v.Kind() == 'n' {
		return nil, err
	}
	end := p.json.InputOffset()
	if p.cut {
		return p.takeList(int(end))
	}
	return jsonElements(p.body[end-int64(len(v)) : end]), nil
}

// output reads a requested output.
func (p *restReader) output(i int) error {
	where := "outputs[" + strconv.Itoa(i) + "]"
	var out output
	explicit := false
	err := p.object(where, func(name string) (err error) {
		switch name {
		case "name":
			out.name, err = p.text(where + ".name")
		case "parameters":
			err = p.parameters(where+".parameters", func(name string, value parameter) error {
				if name != "binary_data" {
					return checkParameter(where, name, value)
				}
				on, ok := value.(bool)
				if !ok {
					return problemf(invalid, "%s: binary_data is %v, not true or false", where, value)
				}
				out.binary, explicit = on, true
				return nil
			})
		default:
			err = p.json.SkipValue()
		}
		return err
	})
	if err != nil {
		return err
	}
	if out.name == "" {
		return problemf(invalid, "%s has no name", where)
	}
	out.implicit = !explicit
	p.request.outputs = append(p.request.outputs, out)
	return nil
}
