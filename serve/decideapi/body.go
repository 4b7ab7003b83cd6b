package decideapi

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"sync"
)

// buffer is reusable memory for the body of a request or a response.
type buffer struct{ bytes []byte }

// maxPooled is the largest buffer that is returned to the pool.
const maxPooled = 1 << 20

var buffers = sync.Pool{New: func() any { return new(buffer) }}

func (b *buffer) release() {
	if cap(b.bytes) <= maxPooled {
		buffers.Put(b)
	}
}

// byteOrderMark is the prefix that some programs write before UTF-8.
var byteOrderMark = []byte("\ufeff")

// readBody reads the body of a request, which must be JSON of at most limit bytes, and removes a byte order mark. The caller
// releases the buffer.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) (*buffer, error) {
	if err := checkType(r.Header); err != nil {
		return nil, err
	}
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	b := buffers.Get().(*buffer)
	var err error
	if b.bytes, err = readAll(b.bytes[:0], http.MaxBytesReader(w, r.Body, limit), r.ContentLength); err != nil {
		b.release()
		return nil, bodyError(err)
	}
	if bytes.HasPrefix(b.bytes, byteOrderMark) {
		b.bytes = append(b.bytes[:0], b.bytes[len(byteOrderMark):]...)
	}
	return b, nil
}

// readAll appends everything that it reads to b. The length is a hint; -1: not known.
func readAll(b []byte, r io.Reader, length int64) ([]byte, error) {
	// The announced length is not trusted: memory grows as bytes arrive.
	if room := int(min(length+1, 64<<10)); cap(b) < room {
		b = make([]byte, 0, room)
	}
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if errors.Is(err, io.EOF) {
			return b, nil
		}
		if err != nil {
			return b, err
		}
	}
}

// checkType refuses bodies that are not uncompressed JSON in UTF-8.
func checkType(h http.Header) error {
	if e := h.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return &requestError{status: http.StatusUnsupportedMediaType, code: "unsupported_media_type", message: "the body is compressed (Content-Encoding); send it as it is"}
	}
	text := h.Get("Content-Type")
	if text == "application/json" {
		return nil
	}
	kind, params, err := mime.ParseMediaType(text)
	if charset := params["charset"]; err != nil || kind != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return &requestError{
			status: http.StatusUnsupportedMediaType, code: "unsupported_media_type",
			message: "the body must be JSON in UTF-8: send it with Content-Type: application/json",
		}
	}
	return nil
}

func tooLarge(limit int64) error {
	e := invalid("request_too_large", "", "the body has more than %d bytes, the most that are read", limit)
	e.status = http.StatusRequestEntityTooLarge
	return e
}

func bodyError(err error) error {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return tooLarge(large.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &requestError{status: http.StatusRequestTimeout, code: "request_timeout", message: "the body did not arrive in time"}
	}
	return invalid("invalid_body", "", "the body could not be read to its end")
}
