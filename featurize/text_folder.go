package featurize

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"pipe/featurize/tokenizer"
	"pipe/internal/strictjson"
	"pipe/internal/textfile"
	"pipe/onnx"
	"pipe/onnx/hf"
)

const tokenizerFile = "tokenizer.json"

// textFolder is the folder of an encoder of texts.
type textFolder struct {
	modelFolder
	head hf.Head
}

func (f *textFolder) read(o TextModelOptions) (*TextModel, error) {
	if err := f.describe(); err != nil {
		return nil, err
	}
	m := &TextModel{Architecture: f.config.ModelType, Head: f.head, Vocab: f.config.VocabSize, end: f.end()}
	var err error
	if m.tokenizer, err = f.readTokenizer(o.Tokenizer); err != nil {
		return nil, err
	}
	if m.Tokenizer, err = tokenizer.Parse(m.tokenizer); err != nil {
		return nil, err
	}
	if m.MaxLength, err = f.maxLength(m.Tokenizer, o.MaxLength); err != nil {
		return nil, err
	}
	if m.Graph, err = f.sentences(); err != nil { // before the digest, which reads a damaged file of any length
		return nil, err
	}
	m.Weights, err = f.weights()
	return m, err
}

// describe reads the small files of the folder and looks for an export.
func (f *textFolder) describe() error {
	if err := f.open(hf.TowerText); err != nil {
		return err
	}
	if f.tower != "" {
		f.head = hf.Head{Pooling: hf.PoolModel}
		return nil
	}
	head, err := hf.ReadHead(f.path)
	if head == nil {
		head = &hf.Head{Pooling: hf.PoolMean, Normalize: true}
	}
	f.head = *head
	return err
}

// readTokenizer reads the tokenizer.json of the folder, or another one: a file, a
// folder or the name of a model.
func (f *textFolder) readTokenizer(name string) ([]byte, error) {
	path := f.path
	if name != "" {
		var err error
		if path, err = hf.Resolve(name); err != nil {
			return nil, fmt.Errorf("tokenizer: %w", err)
		}
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, tokenizerFile)
	}
	text, err := textfile.ReadFile(path, textfile.MaxWhole)
	if err != nil && name == "" {
		return nil, fmt.Errorf("%w (if the tokenizer is elsewhere, name it)", err)
	}
	return text, err
}

// sentences is the graph of the export, with a head added if it lacks one, or a
// graph built from the weights.
func (f *textFolder) sentences() (*onnx.Model, error) {
	if f.export == "" {
		return hf.Model(f.path, hf.Options{Tower: f.tower, Head: &f.head})
	}
	m, err := f.readExport()
	if err != nil {
		return nil, err
	}
	return sentenceGraph(m, &f.head)
}

// maxLength is the requested limit, else that of sentence_bert_config.json,
// else the tokenizer's own. It never exceeds the number of positions of the
// model.
func (f *textFolder) maxLength(t *tokenizer.Tokenizer, asked int) (int, error) {
	positions := int(f.config.MaxPositions)
	if asked > 0 {
		if positions > 0 && asked > positions {
			return 0, fmt.Errorf("texts of %d tokens are requested, but the model has %d positions", asked, positions)
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
		return 0, errors.New("the maximum length of a text is not known: sentence_bert_config.json, tokenizer.json and config.json do not declare it")
	}
	return n, nil
}

// sentenceLength is the limit in sentence_bert_config.json, 0 if there is none.
func (f *textFolder) sentenceLength() (int, error) {
	text, err := textfile.ReadFile(filepath.Join(f.path, "sentence_bert_config.json"), textfile.MaxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	var c struct {
		Length int `json:"max_seq_length"`
	}
	if err == nil {
		err = strictjson.Unmarshal(text, &c)
	}
	if err == nil && c.Length < 0 {
		err = fmt.Errorf("max_seq_length is %d; it must be at least 0", c.Length)
	}
	if err != nil {
		return 0, fmt.Errorf("sentence_bert_config.json: %w", err)
	}
	return c.Length, nil
}
