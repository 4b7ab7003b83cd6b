package oip

import (
	"compress/zlib"
	"io"

	"google.golang.org/grpc/encoding"
)

// rpcDeflate compresses messages with zlib, which gRPC calls deflate. The client of Triton can send it.
type rpcDeflate struct{}

func init() { encoding.RegisterCompressor(rpcDeflate{}) }

// Name is that of the compression in gRPC.
func (rpcDeflate) Name() string { return "deflate" }

// Compress writes what is compressed to w.
func (rpcDeflate) Compress(w io.Writer) (io.WriteCloser, error) {
	return zlib.NewWriterLevel(w, zlib.BestSpeed)
}

// Decompress reads what is compressed from r.
func (rpcDeflate) Decompress(r io.Reader) (io.Reader, error) { return zlib.NewReader(r) }
