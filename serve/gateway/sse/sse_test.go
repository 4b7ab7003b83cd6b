package sse

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// readAll returns the raw bytes and the data of a stream.
func readAll(in io.Reader, most int) (raw []byte, data []string, err error) {
	r := NewReader(in, most)
	for {
		e, err := r.Next()
		raw = append(raw, e.Raw...)
		if e.HasData {
			data = append(data, string(e.Data))
		}
		if err != nil {
			return raw, data, err
		}
	}
}

func TestEvents(t *testing.T) {
	for _, c := range []struct {
		stream string
		data   []string
		err    error
	}{
		{"", nil, io.EOF},
		{"data: a\n\ndata: [DONE]\n\n", []string{"a", "[DONE]"}, io.EOF},
		{"data: a\r\n\r\ndata: b\r\n\r\n", []string{"a", "b"}, io.EOF},
		{"data: a\r\rdata: b\r\r", []string{"a", "b"}, io.EOF},
		{"data: a\r\n\ndata: b\n\r\n", []string{"a", "b"}, io.EOF},
		{"\ufeffdata: a\n\n", []string{"a"}, io.EOF},
		{": wait\n\n: wait\n\ndata:a\n\n", []string{"a"}, io.EOF},
		{"event: x\nid: 1\ndata: a\ndata:  b\ndata\nretry: 5\n\n", []string{"a\n b\n"}, io.EOF},
		{"data\n\n", []string{""}, io.EOF},
		{"dataset: a\n\n", nil, io.EOF},
		{"\n\n\ndata: a\n\n\n", []string{"a"}, io.EOF},
		{"data: a\n\ndata: b\n", []string{"a", "b"}, io.ErrUnexpectedEOF},
		{"data: a\n\ndata: [DONE]", []string{"a", "[DONE]"}, io.ErrUnexpectedEOF},
		{"data: a\n\ndat", []string{"a"}, io.ErrUnexpectedEOF},
	} {
		for name, in := range map[string]io.Reader{"whole": strings.NewReader(c.stream), "by the byte": iotest.OneByteReader(strings.NewReader(c.stream))} {
			raw, data, err := readAll(in, 1000)
			if string(raw) != c.stream || !slices.Equal(data, c.data) || !errors.Is(err, c.err) {
				t.Errorf("%q %s: raw %q, data %q, %v", c.stream, name, raw, data, err)
			}
		}
	}
}

func TestFaultsOfStreams(t *testing.T) {
	if _, _, err := readAll(strings.NewReader("data: "+strings.Repeat("x", 100)), 64); !errors.Is(err, ErrTooLong) {
		t.Errorf("a long event: %v", err)
	}
	if raw, _, err := readAll(strings.NewReader(strings.Repeat("data: "+strings.Repeat("x", 50)+"\n\n", 100)), 64); !errors.Is(err, io.EOF) || len(raw) != 5800 {
		t.Errorf("many events: %d bytes, %v", len(raw), err)
	}
	fault := errors.New("reset")
	if _, _, err := readAll(io.MultiReader(strings.NewReader("data: a\n"), iotest.ErrReader(fault)), 64); !errors.Is(err, fault) {
		t.Errorf("got %v", err)
	}
}

// An event is returned as soon as its empty line has come, also where that ends in CR and a LF may follow.
func TestEventsAreNotHeldBack(t *testing.T) {
	in, out := io.Pipe()
	defer in.Close()
	r := NewReader(in, 1000)
	for _, event := range []string{"data: a\n\n", "data: b\r\n\r\n", "data: c\r\r"} {
		go io.WriteString(out, event)
		if e, err := r.Next(); err != nil || string(e.Raw) != event {
			t.Fatalf("got %q, %v, want %q", e.Raw, err, event)
		}
	}
}

// The LF of a CR LF that comes later belongs to its event where the line ends before were CR LF, too.
func TestLateLineFeeds(t *testing.T) {
	r := NewReader(iotest.OneByteReader(strings.NewReader("data: a\r\n\r\ndata: b\r\n\r\n")), 1000)
	for _, want := range []string{"data: a\r\n\r\n", "data: b\r\n\r\n"} {
		if e, err := r.Next(); err != nil || string(e.Raw) != want {
			t.Errorf("got %q, %v, want %q", e.Raw, err, want)
		}
	}
}

// FuzzReader: no byte of a stream is lost, and the data do not depend on how the stream is cut into reads.
func FuzzReader(f *testing.F) {
	for _, s := range []string{"data: a\n\ndata: [DONE]\n\n", "data: a\r\n\r\n: c\r\rdata\n\n", "\ufeffdata: 1\ndata: 2\n\nid: 3", "\r\r\n\n\r"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		raw, data, err := readAll(bytes.NewReader(stream), len(stream)+1)
		if !bytes.Equal(raw, stream) || !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("raw %q, %v", raw, err)
		}
		raw2, data2, err2 := readAll(iotest.OneByteReader(bytes.NewReader(stream)), len(stream)+1)
		if !bytes.Equal(raw2, stream) || !slices.Equal(data, data2) || !errors.Is(err2, err) {
			t.Fatalf("by the byte: %q, data %q and %q, %v and %v", raw2, data2, data, err2, err)
		}
	})
}
