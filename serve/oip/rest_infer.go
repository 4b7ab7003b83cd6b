package oip

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// headerLength is the header with the length of the JSON, if binary data follow it.
const headerLength = "Inference-Header-Content-Length"

// restInfer answers an inference request.
func (a *API) restInfer(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	buffer := a.bodies.Get().(*[]byte)
	defer a.bodies.Put(buffer)
	out, err := a.restAnswer(w, r, buffer, start)
	if err != nil {
		writeProblem(w, err)
		return
	}
	if err := writeAnswer(w, r, out, buffer); err != nil {
		writeProblem(w, err)
	}
}

// restAnswer reads a request and runs it. The buffer may be reused after it.
func (a *API) restAnswer(w http.ResponseWriter, r *http.Request, buffer *[]byte, start time.Time) (*answer, error) {
	body, err := a.readBody(w, r, *buffer)
	if cap(body) <= maxPooled {
		*buffer = body[:0]
	}
	if err != nil {
		return nil, err
	}
	length := -1
	if text := r.Header.Get(headerLength); text != "" {
		if length, err = strconv.Atoi(text); err != nil || length < 0 {
			return nil, problemf(invalid, "%s is %q, not a number of bytes", headerLength, text)
		}
	}
	q := &request{model: r.PathValue("model"), version: r.PathValue("version"), log: r.Header.Get("X-Request-Id")}
	if err := readRequest(q, body, length); err != nil {
		return nil, err
	}
	m := a.memories.Get().(*memory)
	defer func() {
		m.reset()
		a.memories.Put(m)
	}()
	return a.infer(r.Context(), q, m, start)
}

// readBody reads and decompresses the body of a request into buffer, or into a larger one.
func (a *API) readBody(w http.ResponseWriter, r *http.Request, buffer []byte) ([]byte, error) {
	most := a.settings.MaxBody
	if r.ContentLength > most {
		w.Header().Set("Connection", "close") // the body is not read
		return buffer, problemf(tooLarge, "the request has %d bytes, more than %d", r.ContentLength, most)
	}
	if n := int(r.ContentLength); n+1 > cap(buffer) {
		buffer = make([]byte, 0, n+bytes.MinRead)
	}
	source := io.Reader(http.MaxBytesReader(w, r.Body, most))
	switch how := strings.ToLower(r.Header.Get("Content-Encoding")); how {
	case "", "identity":
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(source)
		if err != nil {
			return buffer, bodyProblem(err, "gzip")
		}
		defer z.Close()
		source = io.LimitReader(z, most+1)
	case "deflate":
		z, err := zlib.NewReader(source)
		if err != nil {
			return buffer, bodyProblem(err, "deflate")
		}
		defer z.Close()
		source = io.LimitReader(z, most+1)
	default:
		return buffer, problemf(badEncoding, "Content-Encoding %q is not served; send gzip, deflate or none", how)
	}
	b := bytes.NewBuffer(buffer[:0])
	_, err := b.ReadFrom(source)
	body := b.Bytes()
	switch {
	case err != nil:
		return body, bodyProblem(err, r.Header.Get("Content-Encoding"))
	case int64(len(body)) > most:
		return body, problemf(tooLarge, "the request has more than %d bytes when it is decompressed", most)
	}
	return body, nil
}

// bodyProblem describes why a body could not be read.
func bodyProblem(err error, how string) error {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return problemf(tooLarge, "the request has more than %d bytes", large.Limit)
	case how != "":
		return problemf(invalid, "read the body as %s: %v", how, err)
	}
	return problemf(invalid, "read the body: %v", err)
}

// writeAnswer writes a response. buffer is memory for it.
func writeAnswer(w http.ResponseWriter, r *http.Request, out *answer, buffer *[]byte) error {
	body, length, err := appendAnswer((*buffer)[:0], out)
	if err != nil {
		return problemf(invalid, "%v", err)
	}
	if cap(body) <= maxPooled {
		*buffer = body[:0]
	}
	h := w.Header()
	h["Content-Type"] = typeJSON
	if slices.ContainsFunc(out.outputs, func(o result) bool { return o.binary }) {
		h["Content-Type"] = typeBinary
		h.Set(headerLength, strconv.Itoa(length))
	}
	h["Vary"] = varyEncoding
	if how := compression(r, len(body)); how != "" {
		h.Set("Content-Encoding", how)
		writeCompressed(w, how, body)
		return nil
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // the client may be gone
	return nil
}

// Values of headers, shared by all responses.
var (
	typeJSON     = []string{"application/json"}
	typeBinary   = []string{"application/octet-stream"}
	varyEncoding = []string{"Accept-Encoding"}
)

// appendAnswer appends the JSON of a response and its binary data. It returns the length of the JSON.
func appendAnswer(dst []byte, out *answer) (body []byte, length int, err error) {
	dst = append(dst, `{"model_name":`...)
	if dst, err = jsontext.AppendQuote(dst, out.model); err != nil {
		return nil, 0, err
	}
	dst = append(dst, `,"model_version":"`...)
	dst = append(dst, out.version...)
	dst = append(dst, '"')
	if out.id != "" {
		dst = append(dst, `,"id":`...)
		if dst, err = jsontext.AppendQuote(dst, out.id); err != nil {
			return nil, 0, err
		}
	}
	if out.decisions != "" {
		dst = append(dst, `,"parameters":{"`+decisionsParameter+`":`...)
		if dst, err = jsontext.AppendQuote(dst, out.decisions); err != nil {
			return nil, 0, err
		}
		dst = append(dst, '}')
	}
	dst = append(dst, `,"outputs":[`...)
	for i, o := range out.outputs {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendResult(dst, &o); err != nil {
			return nil, 0, err
		}
	}
	dst = append(dst, "]}"...)
	length = len(dst)
	for _, o := range out.outputs {
		if o.binary {
			dst = appendRaw(dst, o.tensor)
		}
	}
	return dst, length, nil
}

// appendResult appends the JSON of an output.
func appendResult(dst []byte, o *result) ([]byte, error) {
	dst, err := jsontext.AppendQuote(append(dst, `{"name":`...), o.name)
	if err != nil {
		return nil, err
	}
	dst = append(dst, `,"datatype":"`...)
	dst = append(dst, datatypeOf(o.tensor.DType)...)
	dst = append(dst, `","shape":[`...)
	for i, size := range o.tensor.Shape {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, size, 10)
	}
	dst = append(dst, ']')
	if o.binary {
		dst = append(dst, `,"parameters":{"binary_data_size":`...)
		return append(strconv.AppendInt(dst, int64(rawSize(o.tensor)), 10), "}}"...), nil
	}
	dst, err = appendJSON(append(dst, `,"data":`...), o.tensor)
	if err != nil {
		return nil, err
	}
	return append(dst, '}'), nil
}

// minCompressed is the size from which responses are compressed. For smaller ones it is not worth the time.
const minCompressed = 4096

// compression returns how a response of the given size is compressed: gzip, deflate, or "" for not at all.
func compression(r *http.Request, size int) string {
	if size < minCompressed {
		return ""
	}
	best := ""
	for _, value := range r.Header.Values("Accept-Encoding") {
		for part := range strings.SplitSeq(value, ",") {
			name, weight, _ := strings.Cut(part, ";")
			if w, ok := strings.CutPrefix(strings.TrimSpace(weight), "q="); ok {
				if q, err := strconv.ParseFloat(w, 64); err != nil || q == 0 {
					continue
				}
			}
			switch name = strings.ToLower(strings.TrimSpace(name)); {
			case name == "gzip":
				best = name
			case name == "deflate" && best == "":
				best = name
			}
		}
	}
	return best
}

var gzips = sync.Pool{New: func() any {
	z, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level exists
	}
	return z
}}

// writeCompressed writes a body. Write errors are ignored, because the client may have disconnected.
func writeCompressed(w io.Writer, how string, body []byte) {
	if how == "deflate" {
		z, err := zlib.NewWriterLevel(w, zlib.BestSpeed)
		if err != nil {
			panic(err) // the level exists
		}
		_, _ = z.Write(body)
		_ = z.Close()
		return
	}
	z := gzips.Get().(*gzip.Writer)
	z.Reset(w)
	_, _ = z.Write(body)
	_ = z.Close()
	z.Reset(io.Discard)
	gzips.Put(z)
}
