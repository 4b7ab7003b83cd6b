package builder

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"pipe/experts/builder/part"
	"pipe/internal/atomicfile"
	"pipe/internal/storage"
)

// audit records the texts that advice showed, one line of JSON per instance and
// level that shows any. A nil audit records nothing.
type audit struct{ lines bytes.Buffer }

// auditLine is a line of an audit.
type auditLine struct {
	ID     string   `json:"id"`
	Advice string   `json:"advice"`
	Query  string   `json:"query"` // by which the passages were found
	Pages  []string `json:"pages"`
	Texts  []string `json:"texts"`
}

// newAudit returns an audit, nil if the build keeps none.
func newAudit(keep bool) *audit {
	if !keep {
		return nil
	}
	return &audit{}
}

// add records what the levels of advice show for a batch, instance by instance.
func (a *audit) add(names []string, batch []part.Instance, shown [][]part.AdvicePayload) error {
	if a == nil {
		return nil
	}
	e := json.NewEncoder(&a.lines)
	e.SetEscapeHTML(false)
	for n := range batch {
		for k, level := range shown {
			s := &level[n]
			if len(s.Passages) == 0 && s.Query == "" {
				continue
			}
			line := auditLine{ID: batch[n].ID, Advice: names[k], Query: s.Query, Pages: []string{}, Texts: []string{}}
			if line.Query == "" {
				line.Query = batch[n].Text
			}
			for _, p := range s.Passages {
				line.Pages, line.Texts = append(line.Pages, p.Page), append(line.Texts, p.Text)
			}
			if err := e.Encode(line); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeZipped writes a gzip file atomically.
func writeZipped(path string, write func(io.Writer) error) error {
	f, err := atomicfile.Create(path)
	if err != nil {
		return err
	}
	defer f.Cleanup()
	z := gzip.NewWriter(f)
	if err := write(z); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return f.CloseAtomicallyReplace()
}

// badListName is the file of the work folder that lists bad images.
const badListName = "bad-images.txt"

// keepBad writes the whole list of a *BadImagesError next to the output, and
// puts the name of the file into the error.
func keepBad(err error, out string) error {
	var bad *part.BadImagesError
	if !errors.As(err, &bad) || storage.IsRemote(out) {
		return err
	}
	folder := workFolder(out)
	if _, failed := atomicfile.MkdirAll(folder); failed != nil {
		return errors.Join(err, failed)
	}
	file, failed := writeBad(folder, bad.Images)
	bad.File = file
	return errors.Join(err, failed)
}

// writeBad writes the list into a work folder and returns the file. Without bad
// images it removes the list of an earlier run and returns "".
func writeBad(folder string, images []part.BadImage) (string, error) {
	file := filepath.Join(folder, badListName)
	if len(images) == 0 {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		return "", nil
	}
	err := atomicfile.WriteFile(file, []byte(part.BadList(images)))
	if err != nil {
		return "", fmt.Errorf("list bad images: %w", err)
	}
	return file, nil
}
