package language

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/featurize/tokenizer"
	"pipe/onnx"
	"pipe/onnx/ort"
	"pipe/onnx/rewrite"
)

// Causal is a causal language model: it gives every token of the vocabulary a
// probability of coming next. It is safe for concurrent use.
//
// Rows of a batch are padded on the right. No token sees the tokens after it, so
// the padding changes nothing, whether or not a graph takes position_ids.
type Causal struct {
	session    *ort.Session
	file       string
	tokens     *tokenizer.Tokenizer
	render     chatTemplate
	end        []int32 // tokens that end an answer
	mask       bool    // what the graph takes beside input_ids
	positions  bool
	cache      []cacheInput
	cached     bool // the cache of earlier tokens can be used
	vocabulary int  // 0: not known before the first call
	limit      int  // largest number of tokens in a row
	batch      int  // largest number of tokens in a call
}

// CausalSettings name a causal language model and say how it is called.
type CausalSettings struct {
	FolderSettings
	Template   string `json:"template"`     // for conversations; "": the one of the model's type
	NoThinking bool   `json:"no_thinking"`  // the answer of a reasoning model starts after an empty <think> block
	MaxLength  int    `json:"max_length"`   // largest number of tokens in prompt and answer; 0: 4096, or the model's limit if that is lower
	Tokens     int    `json:"batch_tokens"` // largest number of tokens in a call
}

// DefaultCausalSettings returns the defaults, without a model.
func DefaultCausalSettings() CausalSettings { return CausalSettings{Tokens: 4096} }

// Names of inputs and outputs in exported causal language models.
const (
	idsInput      = "input_ids"
	maskInput     = "attention_mask"
	positionInput = "position_ids"
	logitsOutput  = "logits"
	rowsInput     = "pipe/rows"   // added: positions whose logits are returned
	pickedOutput  = "pipe/logits" // added: those logits
)

// longestRow is the default of max_length: FEVER prompts with five passages
// have about 1,000 tokens.
const longestRow = 4096

// OpenCausal loads a model and makes its files inputs of the build. The caller closes it.
func OpenCausal(ctx context.Context, s *part.Setup, cfg *CausalSettings) (_ *Causal, err error) {
	f, err := OpenFolder(ctx, s, &cfg.FolderSettings)
	if err != nil {
		return nil, err
	}
	c := &Causal{file: f.file, tokens: f.tokens, end: f.config.End, batch: cfg.Tokens}
	if c.render, err = templateFor(cfg.Template, f.config.Type, cfg.NoThinking); err != nil {
		return nil, err
	}
	if err := f.knowsTurns(c.render); err != nil {
		return nil, err
	}
	if c.limit, err = rowLimit(cfg.MaxLength, f.config.Positions, longestRow); err != nil {
		return nil, err
	}
	if cfg.Tokens < 1 {
		return nil, fmt.Errorf("batch_tokens is %d; it must be positive", cfg.Tokens)
	}
	if err := c.bind(f); err != nil {
		return nil, &costs.DataError{File: f.file, Err: err}
	}
	return c, c.open(s, f.graph)
}

// rowLimit returns the largest number of tokens in a row: the requested one, or
// else the default, limited by the model (0: its limit is not known). A request
// above the model's limit is an error.
func rowLimit(asked, model, standard int) (int, error) {
	switch {
	case asked < 0 || model > 0 && asked > model:
		return 0, fmt.Errorf("max_length is %d; the model takes up to %d tokens", asked, model)
	case asked > 0:
		return asked, nil
	case model > 0:
		return min(model, standard), nil
	}
	return standard, nil
}

// bind checks the inputs and outputs, and records which of them the graph has.
func (c *Causal) bind(f *Folder) error {
	ids := false
	for _, in := range f.graph.Inputs() {
		switch in.Name {
		case idsInput:
			ids = true
		case maskInput:
			c.mask = true
		case positionInput:
			c.positions = true
		default:
			entry, err := newCacheInput(in, &f.config)
			if err != nil {
				return err
			}
			c.cache = append(c.cache, entry)
			continue
		}
		if in.DType != onnx.Int64 || len(in.Shape) != 2 {
			return fmt.Errorf("input %q is %v of shape %s; it must be int64 [batch, sequence]", in.Name, in.DType, in.Shape)
		}
	}
	if !ids {
		return fmt.Errorf("has no input %q; it is not a language model over tokens", idsInput)
	}
	for _, out := range f.graph.Outputs() {
		if out.Name != logitsOutput {
			continue
		}
		if len(out.Shape) == 3 && out.Shape[2].Known() {
			c.vocabulary = int(out.Shape[2].Size)
		}
		return f.fits(c.vocabulary, "the last axis of its logits")
	}
	return fmt.Errorf("has no output %q", logitsOutput)
}

// open creates the session. The graph returns only the requested logits, since
// all of them would be batch x sequence x vocabulary numbers.
func (c *Causal) open(s *part.Setup, graph *onnx.Model) error {
	picked, err := rewrite.PickRows(graph, rewrite.PickOptions{Output: logitsOutput, Rows: rowsInput, Picked: pickedOutput})
	if err != nil {
		return &costs.DataError{File: c.file, Err: err}
	}
	b, err := picked.Marshal()
	if err != nil {
		return err
	}
	rt, err := s.Runtime()
	if err != nil {
		return err
	}
	o := rt.SessionOptions()
	o.Threads = 1 // shards run concurrently, and one thread gives the same bits everywhere
	o.Config = map[string]string{"session.model_external_initializers_file_folder_path": filepath.Dir(c.file)}
	o.Outputs = []string{pickedOutput}
	if growing(c.cache, picked.Outputs()) {
		c.cached = true
		for _, entry := range c.cache {
			o.Outputs = append(o.Outputs, entry.present)
		}
	}
	if c.session, err = rt.Session(b, o); err != nil {
		return &costs.DataError{File: c.file, Err: err}
	}
	return nil
}

// Close frees the model.
func (c *Causal) Close() error { return c.session.Close() }

// File is the file of the graph, for errors.
func (c *Causal) File() string { return c.file }

// Limit is the largest number of tokens in a prompt and its answer together.
func (c *Causal) Limit() int { return c.limit }

// Encode returns the tokens of a string inside a longer text, so no tokens are
// added at its ends.
func (c *Causal) Encode(text string) []int32 {
	return c.tokens.Encode(text, tokenizer.Options{}).IDs
}

// Prompt returns the tokens of a conversation, up to where the answer starts.
func (c *Causal) Prompt(talk Conversation) ([]int32, error) {
	text, err := c.render(talk)
	if err != nil {
		return nil, err
	}
	ids := c.Encode(text)
	if len(ids) == 0 {
		return nil, errors.New("the prompt is empty")
	}
	return ids, nil
}
