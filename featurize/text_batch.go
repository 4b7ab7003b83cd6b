package featurize

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"pipe/featurize/tokenizer"
	"pipe/internal/parallel"
	"pipe/onnx"
)

const (
	batchTokens = 1024 // tokens of a batch, so that activations stay in the cache
	batchTexts  = 64
	tokenized   = 256 // texts that one worker makes tokens of at a time
)

// Encode writes the vector of every text into dst, len(texts) x Dim. Batches
// hold texts of equal length, so that nothing is padded: on the CPU the bits of
// a text's vector do not depend on the other texts of the call. Errors name the
// position of the first text concerned, by a *TextError.
func (e *TextEncoder) Encode(ctx context.Context, dst []float32, texts []string) error {
	if len(dst) != len(texts)*e.dim {
		return fmt.Errorf("encode texts: dst has %d values; %d texts need %d", len(dst), len(texts), len(texts)*e.dim)
	}
	tokens, err := e.Tokens(ctx, texts)
	if err != nil {
		return err
	}
	return e.EncodeTokens(ctx, dst, tokens)
}

// TextError says which text of a call cannot be encoded.
type TextError struct {
	Index int // from 0
	Err   error
}

func (e *TextError) Error() string { return fmt.Sprintf("text %d: %v", e.Index, e.Err) }

// Unwrap returns the underlying error.
func (e *TextError) Unwrap() error { return e.Err }

// Tokens are texts as an encoder's graph takes them: the token ids of each.
type Tokens []tokenizer.Encoding

// Tokens makes the token ids of texts, for EncodeTokens. A text that the model cannot take is a *TextError.
func (e *TextEncoder) Tokens(ctx context.Context, texts []string) (Tokens, error) {
	encoded, err := e.tokenize(ctx, texts)
	if err != nil {
		return nil, fmt.Errorf("encode texts: %w", err)
	}
	return encoded, nil
}

// EncodeTokens is Encode for texts whose tokens were made before, by the same encoder.
func (e *TextEncoder) EncodeTokens(ctx context.Context, dst []float32, texts Tokens) error {
	if len(dst) != len(texts)*e.dim {
		return fmt.Errorf("encode texts: dst has %d values; %d texts need %d", len(dst), len(texts), len(texts)*e.dim)
	}
	if err := e.encode(ctx, dst, texts); err != nil {
		return fmt.Errorf("encode texts: %w", err)
	}
	return nil
}

// encode is Encode for token ids.
func (e *TextEncoder) encode(ctx context.Context, dst []float32, texts []tokenizer.Encoding) error {
	batches := equalLengths(texts)
	return parallel.Each(ctx, e.workers, len(batches), func(ctx context.Context, i int) error { return e.encodeBatch(ctx, dst, texts, batches[i]) })
}

// tokenize makes the token ids of every text.
func (e *TextEncoder) tokenize(ctx context.Context, texts []string) ([]tokenizer.Encoding, error) {
	out := make([]tokenizer.Encoding, len(texts))
	err := parallel.Each(ctx, e.workers, (len(texts)+tokenized-1)/tokenized, func(ctx context.Context, i int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		for n := i * tokenized; n < min((i+1)*tokenized, len(texts)); n++ {
			out[n] = e.tokenizer.Encode(texts[n], e.tokens)
			if err := e.checkTokens(out[n].IDs); err != nil {
				return &TextError{n, err}
			}
		}
		return nil
	})
	return out, err
}

func (e *TextEncoder) checkTokens(ids []int32) error {
	if len(ids) == 0 {
		return errors.New("has no tokens")
	}
	if most := int64(slices.Max(ids)); e.vocab > 0 && most >= e.vocab {
		return fmt.Errorf("has token id %d, but the model has %d tokens", most, e.vocab)
	}
	return checkEnd(ids, e.end)
}

// equalLengths groups texts of equal length in tokens, the longest first, so
// that the workers finish at about the same time. Elements are positions.
func equalLengths(texts []tokenizer.Encoding) [][]int {
	order := make([]int, len(texts))
	for i := range order {
		order[i] = i
	}
	size := func(i int) int { return len(texts[i].IDs) }
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(size(b), size(a)), cmp.Compare(a, b)) })
	var batches [][]int
	for start := 0; start < len(order); {
		most := max(1, min(batchTexts, batchTokens/size(order[start])))
		end := start + 1
		for end < len(order) && end-start < most && size(order[end]) == size(order[start]) {
			end++
		}
		batches = append(batches, order[start:end])
		start = end
	}
	return batches
}

// encodeBatch writes the vectors of the texts at some positions.
func (e *TextEncoder) encodeBatch(ctx context.Context, dst []float32, texts []tokenizer.Encoding, at []int) error {
	batch := make([]tokenizer.Encoding, len(at))
	for i, n := range at {
		batch[i] = texts[n]
	}
	if len(batch) == 1 && len(batch[0].IDs) == 1 {
		// For a single row the runtime uses its code for vectors, which rounds
		// differently from its code for matrices.
		batch = append(batch, batch[0])
	}
	out, err := e.run(ctx, batch)
	if err != nil {
		return err
	}
	if want := []int64{int64(len(batch)), int64(e.dim)}; !slices.Equal(out.Shape, want) {
		return fmt.Errorf("the graph returns vectors of shape %v, not %v", out.Shape, want)
	}
	for i, n := range at {
		if !decodeRow(dst[n*e.dim:(n+1)*e.dim], out.Raw[4*i*e.dim:]) {
			return &TextError{n, errors.New("the vector is not finite")}
		}
	}
	return nil
}

// tokenTensor is an input of a graph for texts of one length in tokens: int64
// [texts, tokens].
func tokenTensor(texts []tokenizer.Encoding, input string) *onnx.Tensor {
	length := len(texts[0].IDs)
	values := make([]int64, 0, len(texts)*length)
	for _, t := range texts {
		for i, id := range t.IDs {
			switch input {
			case "attention_mask":
				values = append(values, 1)
			case "token_type_ids":
				values = append(values, int64(t.Types[i]))
			default:
				values = append(values, int64(id))
			}
		}
	}
	return onnx.Int64s([]int64{int64(len(texts)), int64(length)}, values)
}
