package costs

import (
	"encoding/binary"
	"io"
)

// checkFooter compares the length of the footer, which a Parquet file tells
// before its last four bytes, with the file: the library would allocate
// whatever a damaged length asks for.
func checkFooter(file io.ReaderAt, size int64) error {
	var tail [8]byte
	if size < int64(len(tail)) {
		return &DataError{Msg: "is no Parquet file, or a truncated one"}
	}
	if _, err := file.ReadAt(tail[:], size-int64(len(tail))); err != nil {
		return err
	}
	if length := int64(binary.LittleEndian.Uint32(tail[:4])); length > size-int64(len(tail)) {
		return &DataError{Msg: "is no Parquet file, or a truncated one"}
	}
	return nil
}
