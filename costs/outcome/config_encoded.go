package outcome

import (
	"path/filepath"

	"pipe/internal/storage"
)

// TextColumns are columns of texts, and the encoder that turns them into
// features. The texts of several columns are joined by line breaks.
type TextColumns struct {
	Column  string   `yaml:"column"` // one column; the same as a list of one
	Columns []string `yaml:"columns"`
	Encoder string   `yaml:"encoder"` // a folder, an .onnx file, or org/name in the local Hugging Face cache
}

// names lists the columns.
func (c TextColumns) names() []string {
	if c.Column != "" {
		return []string{c.Column}
	}
	return c.Columns
}

// ImageColumn is a column of paths of images, and the encoder that turns the
// images into features.
type ImageColumn struct {
	Column  string           `yaml:"column"`
	Folder  storage.Location `yaml:"folder"`  // where relative paths start; "": the folder of the table
	Encoder string           `yaml:"encoder"` // as that of texts
	Decoder string           `yaml:"decoder"` // see pixel.OpenDecoder
}

// path returns the path or URL of an image that a row of the table names.
func (c ImageColumn) path(table storage.Location, named string) string {
	folder := c.Folder
	if folder.IsZero() {
		folder = table.Dir()
	}
	if filepath.IsAbs(named) {
		return named
	}
	return folder.Join(named).URL()
}

// checkEncoded checks the columns that encoders read.
func (f *FeatureTable) checkEncoded(i int, add func(bool, string, ...any)) {
	t, im := f.Text, f.Image
	add(t.Column != "" && len(t.Columns) > 0, "features[%d].text.column and columns are both set", i)
	add(len(t.names()) > 0 && t.Encoder == "", "features[%d].text.encoder is empty", i)
	add(len(t.names()) == 0 && t.Encoder != "", "features[%d].text.columns is empty", i)
	add(im.Column != "" && im.Encoder == "", "features[%d].image.encoder is empty", i)
	add(im.Column == "" && im != ImageColumn{}, "features[%d].image.column is empty", i)
}
