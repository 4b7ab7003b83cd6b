package oip

import (
	"compress/zlib"
	"io"

	"google.golang.org/grpc/encoding"
)

// rpcDeflate compresses messages with zlib, which gRPC calls deflate. Clients of Triton may use it.
type rpcDeflate struct{}

func init() { encoding.RegisterCompressor(rpcDeflate{}) }

// Name is the name of the compression in gRPC.
func (rpcDeflate) Name() string { return "deflate" }

// Compress returns a writer that compresses to w.
func (rpcDeflate) Compress(w io.Writer) (io.WriteCloser, error) {
	return zlib.NewWriterLevel(w, zlib.BestSpeed)
}

// Decompress returns a reader that decompresses r.
func (rpcDeflate) Decompress(r io.Reader) (io.Reader, error) { return zlib.NewReader(r) }
