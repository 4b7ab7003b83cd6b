package tablefile

import (
	"archive/zip"
	"bufio"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"pipe/internal/dataerror"
	"pipe/internal/storage"
	"pipe/internal/textfile"
)

// openText opens a text file, which may be gzipped. The caller closes the second result.
func openText(ctx context.Context, path storage.Location) (*bufio.Reader, io.Closer, error) {
	if err := textfile.CheckRegularAt(ctx, path); err != nil {
		return nil, nil, dataerror.FromText(err)
	}
	file, err := path.Open(ctx)
	if err != nil {
		return nil, nil, err
	}
	r, err := textfile.Decode(path.String(), file, false)
	if err != nil {
		file.Close()
		return nil, nil, dataerror.FromText(err)
	}
	return r, file, nil
}

// refusePickle returns an error if a file is a pickle, whatever its name: plain, gzipped, or the first file of a ZIP
// archive. Pickles are programs, so they are never read here.
func refusePickle(ctx context.Context, path storage.Location) error {
	info, err := path.Stat(ctx)
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	opened, err := path.Open(ctx)
	if err != nil {
		return err
	}
	defer opened.Close()
	file := io.NewSectionReader(opened, 0, info.Size())
	if !isPickle(head(file)) && !isPickle(gunzipped(file)) && !isPickle(unzipped(file, info.Size())) {
		return nil
	}
	return &dataerror.Error{File: path.String(), Err: &textfile.Fault{
		Msg: "is a Python pickle, which is not read: reading one can run any program",
		Advice: "if you trust the file, convert it: " + pickleCommand(path.String()) +
			" (a column of mixed types may need .to_csv(..., index=False) instead)",
	}}
}

// pickleCommand is the command that makes a Parquet file of a pickle.
func pickleCommand(path string) string {
	to := path
	for _, ending := range []string{".gz", ".zip", ".pkl", ".pickle"} {
		to = strings.TrimSuffix(to, ending)
	}
	if strings.ContainsAny(path, "'\"\\$`!\n") {
		path, to = "FILE.pkl", "FILE"
	}
	return fmt.Sprintf(`python -c "import pandas as pd; pd.read_pickle('%s').to_parquet('%s.parquet')"`, path, strings.TrimSuffix(to, string(filepath.Separator)))
}

// isPickle recognises protocol 2 and later, which all writers have used since Python 3: an opcode and its version. What
// follows is a frame from protocol 4 on, else an opcode.
func isPickle(head []byte) bool {
	if len(head) < 3 || head[0] != 0x80 || head[1] < 2 || head[1] > 5 {
		return false
	}
	const frame = 0x95
	return head[1] < 4 || head[2] == frame
}

// head returns the first bytes, nil if they cannot be read.
func head(r io.Reader) []byte {
	var b [4]byte
	n, _ := io.ReadFull(r, b[:])
	return b[:n]
}

func gunzipped(file *io.SectionReader) []byte {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil
	}
	z, err := gzip.NewReader(file)
	if err != nil {
		return nil
	}
	return head(z)
}

func unzipped(file *io.SectionReader, size int64) []byte {
	if _, err := file.Seek(0, io.SeekStart); err != nil || string(head(file)) != "PK\x03\x04" {
		return nil
	}
	z, err := zip.NewReader(file, size)
	if err != nil || len(z.File) == 0 {
		return nil
	}
	r, err := z.File[0].Open()
	if err != nil {
		return nil
	}
	defer r.Close()
	return head(r)
}
