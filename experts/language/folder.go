package language

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/featurize/tokenizer"
	"pipe/internal/dataerror"
	"pipe/internal/storage"
	"pipe/internal/strictjson"
	"pipe/internal/textfile"
	"pipe/onnx"
	"pipe/onnx/hf"
)

// Folder is a language model in Hugging Face's layout: an ONNX graph, config.json
// and tokenizer.json.
type Folder struct {
	path   string
	file   string // of the graph
	graph  *onnx.Model
	tokens *tokenizer.Tokenizer
	config modelConfig
}

// FolderSettings name a language model.
type FolderSettings struct {
	Model part.Path `json:"model"` // folder, or org/name in the local Hugging Face cache
	File  string    `json:"file"`  // the graph, inside the folder; "": onnx/model.onnx, else model.onnx
}

// modelConfig has the values that are read from config.json and generation_config.json.
type modelConfig struct {
	Type       string            `json:"model_type"`
	Vocabulary int               `json:"vocab_size"`
	Positions  int               `json:"max_position_embeddings"`
	Hidden     int64             `json:"hidden_size"`
	Heads      int64             `json:"num_attention_heads"`
	CacheHeads int64             `json:"num_key_value_heads"` // 0: as many as heads
	HeadSize   int64             `json:"head_dim"`            // 0: hidden / heads
	End        tokenIDs          `json:"eos_token_id"`
	Labels     map[string]string `json:"id2label"` // by index of the class, as a string
}

// tokenIDs is one id, a list of them, or null.
type tokenIDs []int32

// UnmarshalJSON reads any of the forms.
func (t *tokenIDs) UnmarshalJSON(b []byte) error {
	var one *int32
	if json.Unmarshal(b, &one) == nil {
		*t = nil
		if one != nil {
			*t = tokenIDs{*one}
		}
		return nil
	}
	return json.Unmarshal(b, (*[]int32)(t))
}

// OpenFolder finds a model and reads everything but its weights. The digests of
// its files become inputs of the build. Their names start with "model", like those
// of all inputs that the features of an expert depend on.
func OpenFolder(ctx context.Context, s *part.Setup, cfg *FolderSettings) (*Folder, error) {
	if cfg.Model == "" {
		return nil, errors.New("model: not set")
	}
	path, err := hf.Resolve(s.ModelPath(ctx, cfg.Model))
	if err != nil {
		return nil, err
	}
	f := &Folder{path: path}
	if err := f.findGraph(cfg.File); err != nil {
		return nil, err
	}
	if err := f.readConfig(ctx, s); err != nil {
		return nil, err
	}
	if err := f.readTokenizer(ctx, s); err != nil {
		return nil, err
	}
	if f.graph, err = s.Model(ctx, storage.File(f.file)); err != nil {
		return nil, fmt.Errorf("load model: %w", err)
	}
	return f, nil
}

// Path returns the path of the folder.
func (f *Folder) Path() string { return f.path }

// Classes returns the names of a classifier's classes in config.json, by index as
// a string; nil if it names none.
func (f *Folder) Classes() map[string]string { return f.config.Labels }

// MissingFileError reports a file that is missing from a model folder.
type MissingFileError struct {
	Folder string
	File   string
	Advice string // how to get one
}

// Error names folder and file.
func (e *MissingFileError) Error() string {
	return fmt.Sprintf("model %q: file %s is missing", e.Folder, e.File)
}

// Hint returns how to get the file.
func (e *MissingFileError) Hint() string { return e.Advice }

func (f *Folder) findGraph(file string) error {
	found := false
	if file == "" {
		f.file, found = hf.Export(f.path)
	} else {
		f.file = filepath.Join(f.path, filepath.FromSlash(file))
		_, err := os.Stat(f.file)
		found = err == nil
	}
	if found {
		return nil
	}
	return &MissingFileError{f.path, cmp.Or(file, "onnx/model.onnx"), "export the model to ONNX (optimum-cli export onnx), or name the graph (file: NAME.onnx)"}
}

// readConfig reads config.json. End tokens of generation_config.json, if it
// exists, replace those of config.json.
func (f *Folder) readConfig(ctx context.Context, s *part.Setup) error {
	const name, generation = "config.json", "generation_config.json"
	if err := f.readJSON(ctx, s, "model configuration", name, &f.config); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(f.path, generation)); err != nil {
		return nil
	}
	var g struct {
		End tokenIDs `json:"eos_token_id"`
	}
	if err := f.readJSON(ctx, s, "model generation settings", generation, &g); err != nil {
		return err
	}
	if len(g.End) > 0 {
		f.config.End = g.End
	}
	return nil
}

func (f *Folder) readJSON(ctx context.Context, s *part.Setup, role, name string, dst any) error {
	path := filepath.Join(f.path, name)
	b, err := textfile.ReadFile(path, textfile.MaxConfig)
	if errors.Is(err, os.ErrNotExist) {
		return &MissingFileError{f.path, name, "use the folder of the model that the graph was exported from, with its " + name}
	}
	if err == nil {
		err = s.File(ctx, role, storage.File(path))
	}
	if err != nil {
		return fmt.Errorf("read model: %w", dataerror.FromText(err))
	}
	if err := strictjson.Unmarshal(b, dst); err != nil {
		return &costs.DataError{File: path, Err: strictjson.Plain(err)}
	}
	return nil
}

// readTokenizer reads the tokenizer and checks that the model knows all its ids.
func (f *Folder) readTokenizer(ctx context.Context, s *part.Setup) error {
	const name = "tokenizer.json"
	path := filepath.Join(f.path, name)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return &MissingFileError{f.path, name, "save the model's fast tokenizer in the same folder (tokenizer.save_pretrained)"}
	}
	if err := s.File(ctx, "model tokenizer", storage.File(path)); err != nil {
		return fmt.Errorf("read model: %w", err)
	}
	var err error
	if f.tokens, err = tokenizer.Load(path); err != nil {
		return &costs.DataError{File: path, Err: err}
	}
	return f.fits(f.config.Vocabulary, "vocab_size of config.json")
}

// fits checks the tokenizer against the size of the vocabulary; 0: not known.
func (f *Folder) fits(vocabulary int, source string) error {
	if vocabulary > 0 && f.tokens.Size() > vocabulary {
		return &costs.DataError{
			File: filepath.Join(f.path, "tokenizer.json"),
			Msg:  fmt.Sprintf("has ids up to %d, but the model knows %d tokens (%s): it is another model's tokenizer", f.tokens.Size()-1, vocabulary, source),
		}
	}
	return nil
}
