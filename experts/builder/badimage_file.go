package builder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"pipe/experts/builder/part"
	"pipe/internal/atomicfile"
	"pipe/internal/storage"
)

// badListName is the file of the work folder that lists bad images.
const badListName = "bad-images.txt"

// keepBad writes the whole list of a *BadImagesError next to the output, and
// puts the name of the file into the error.
func keepBad(err error, out storage.Location) error {
	var bad *part.BadImagesError
	if !errors.As(err, &bad) || out.IsRemote() {
		return err
	}
	folder := workFolder(out.Path())
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
