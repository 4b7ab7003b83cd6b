package featurize

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"pipe/featurize/tokenizer"
	"pipe/onnx"
	"pipe/onnx/hf"
)

const tokenizerFile = "tokenizer.json"

// textFolder is a folder as Hugging Face keeps models.
type textFolder struct {
	path   string
	export string      // the ONNX file; "": the graph is built of weights
	graph  *onnx.Model // of export, once it is read
	config hf.Config
	head   hf.Head
}

func (f *textFolder) read(maxLength int) (*TextModel, error) {
	if err := f.describe(); err != nil {
		return nil, err
	}
	m := &TextModel{Architecture: f.config.ModelType, Head: f.head, Vocab: f.config.VocabSize}
	var err error
	if m.tokenizer, err = os.ReadFile(filepath.Join(f.path, tokenizerFile)); err != nil {
		return nil, err
	}
	if m.Tokenizer, err = tokenizer.Parse(m.tokenizer); err != nil {
		return nil, err
	}
	if m.MaxLength, err = f.maxLength(m.Tokenizer, maxLength); err != nil {
		return nil, err
	}
	if m.Weights, err = f.weights(); err != nil {
		return nil, err
	}
	m.Graph, err = f.sentences()
	return m, err
}

// describe reads the small files of the folder and looks for an export.
func (f *textFolder) describe() error {
	if f.export == "" {
		f.export, _ = hf.Export(f.path)
	}
	c, err := hf.ReadConfig(f.path)
	switch {
	case err == nil:
		f.config = *c
	case f.export == "" || !errors.Is(err, fs.ErrNotExist):
		return err
	}
	head, err := hf.ReadHead(f.path)
	if head == nil {
		head = &hf.Head{Pooling: hf.PoolMean, Normalize: true}
	}
	f.head = *head
	return err
}

// sentences is the graph of the export, with a head where it lacks one, or the
// one that is built of the weights.
func (f *textFolder) sentences() (*onnx.Model, error) {
	if f.export == "" {
		return hf.Model(f.path, hf.Options{Head: &f.head})
	}
	if f.graph == nil {
		var err error
		if f.graph, err = onnx.ReadFile(f.export); err != nil {
			return nil, err
		}
	}
	return sentenceGraph(f.graph, &f.head)
}

// maxLength is the limit asked for, else that of sentence_bert_config.json, else
// the tokenizer's own, and never more than the model has positions.
func (f *textFolder) maxLength(t *tokenizer.Tokenizer, asked int) (int, error) {
	positions := int(f.config.MaxPositions)
	if asked > 0 {
		if positions > 0 && asked > positions {
			return 0, fmt.Errorf("texts of %d tokens are asked for, the model has %d positions", asked, positions)
		}
		return asked, nil
	}
	sentence, err := f.sentenceLength()
	if err != nil {
		return 0, err
	}
	n := cmp.Or(sentence, t.Defaults().MaxLength, positions)
	if positions > 0 {
		n = min(n, positions)
	}
	if n < 1 {
		return 0, errors.New("nothing tells the most tokens of a text: neither sentence_bert_config.json, tokenizer.json nor config.json")
	}
	return n, nil
}

// sentenceLength is what sentence-transformers keeps, 0 where there is nothing.
func (f *textFolder) sentenceLength() (int, error) {
	text, err := os.ReadFile(filepath.Join(f.path, "sentence_bert_config.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	var c struct {
		Length int `json:"max_seq_length"`
	}
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err == nil && c.Length < 0 {
		err = fmt.Errorf("max_seq_length is %d", c.Length)
	}
	if err != nil {
		return 0, fmt.Errorf("sentence_bert_config.json: %w", err)
	}
	return c.Length, nil
}

// weights digests the files that the graph was made of, one after the other.
func (f *textFolder) weights() (string, error) {
	files, err := f.modelFiles()
	if err != nil {
		return "", err
	}
	all := sha256.New()
	for _, path := range files {
		one, err := fileSum(path)
		if err != nil {
			return "", err
		}
		all.Write(one)
	}
	return "sha256:" + hex.EncodeToString(all.Sum(nil)), nil
}

func (f *textFolder) modelFiles() ([]string, error) {
	if f.export == "" {
		return hf.ModelFiles(f.path)
	}
	b, err := os.ReadFile(f.export)
	if err != nil {
		return nil, err
	}
	m, err := onnx.Parse(b) // again: the side files' data is inside of the graph that was read
	if err != nil {
		return nil, err
	}
	files := []string{f.export}
	side, err := m.ExternalFiles()
	for _, name := range side {
		files = append(files, filepath.Join(filepath.Dir(f.export), name))
	}
	return files, err
}

func fileSum(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return sum.Sum(nil), err
}
