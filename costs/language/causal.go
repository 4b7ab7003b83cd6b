package language

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"pipe/costs"
	"pipe/costs/builder/part"
	"pipe/featurize/tokenizer"
	"pipe/onnx"
	"pipe/onnx/ort"
	"pipe/onnx/rewrite"
)

// Causal is a causal language model: it gives every token of the vocabulary a
// probability to come next. It is safe for concurrent use.
//
// Rows of a batch are filled up on the right. No token sees what comes after it,
// so that the filling changes nothing whether or not a graph takes position_ids.
type Causal struct {
	session    *ort.Session
	file       string
	tokens     *tokenizer.Tokenizer
	render     chatTemplate
	end        []int32 // tokens that end an answer
	mask       bool    // what the graph takes beside input_ids
	positions  bool
	cache      []cacheInput
	cached     bool // what it remembers can be used
	vocabulary int  // 0: not known before the first call
	limit      int  // most tokens of a row
	batch      int  // most tokens of a call
}

// CausalSettings say which causal language model is opened, and how it is called.
type CausalSettings struct {
	FolderSettings
	Template   string `json:"template"`     // of conversations; "": by the model's type
	NoThinking bool   `json:"no_thinking"`  // the answer of a thinking model starts after an empty thought
	MaxLength  int    `json:"max_length"`   // most tokens of prompt and answer; 0: 4096, or fewer if the model takes fewer
	Tokens     int    `json:"batch_tokens"` // most tokens of a call
}

// DefaultCausalSettings names no model yet.
func DefaultCausalSettings() CausalSettings { return CausalSettings{Tokens: 4096} }

// Names that exports of causal language models share.
const (
	idsInput      = "input_ids"
	maskInput     = "attention_mask"
	positionInput = "position_ids"
	logitsOutput  = "logits"
	rowsInput     = "pipe/rows"   // added: which logits are wanted
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
		return nil, fmt.Errorf("batch_tokens is %d", cfg.Tokens)
	}
	if err := c.bind(f); err != nil {
		return nil, &costs.DataError{File: f.file, Err: err}
	}
	return c, c.open(s, f.graph)
}

// rowLimit is the most tokens of a row: what is asked for, else a default, and
// never more than the model's own limit (0: not known).
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

// bind checks the inputs and outputs and finds out which there are.
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
			return fmt.Errorf("input %q is %v of shape %s; int64 [batch, sequence] is needed", in.Name, in.DType, in.Shape)
		}
	}
	if !ids {
		return fmt.Errorf("has no input %q; it is no language model over tokens", idsInput)
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

// open makes the session. The graph is narrowed to the logits that are asked
// for: all of them would be batch x sequence x vocabulary numbers.
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
	o.Threads = 1 // shards run side by side, and one thread gives the same bits everywhere
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

// Limit is how many tokens a prompt and its answer have together at most.
func (c *Causal) Limit() int { return c.limit }

// Encode returns the tokens of a text as it stands in the middle of another:
// none are added at its ends.
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
