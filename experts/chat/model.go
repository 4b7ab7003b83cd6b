package chat

import (
	"context"
	"errors"
	"fmt"

	"pipe/experts/builder/part"
	"pipe/experts/language"
)

// Sampler is a Model that may answer the same conversation in several ways.
type Sampler interface {
	Model
	// Samples returns n answers per prompt.
	Samples(ctx context.Context, batch []Prompt, n int) ([][]Completion, error)
}

// Prompt is a conversation and how it is to be answered.
type Prompt struct {
	Turns  language.Conversation
	Fields map[string]any // of the request, over those of the settings; nil: none. The model must not modify them
}

// Model answers conversations. It is safe for concurrent use.
type Model interface {
	// Complete returns one answer per conversation, in order. NameInstance
	// finds out which conversation an error is about.
	Complete(ctx context.Context, batch []language.Conversation) ([]Completion, error)
	Close() error
}

// conversationError says which conversation of a batch has no answer.
type conversationError struct {
	index int
	err   error
}

func (e *conversationError) Error() string { return e.err.Error() }
func (e *conversationError) Unwrap() error { return e.err }

// FailedConversation returns which conversation of a batch an error of Complete is about. ok is false if it is about none:
// the budget is used up, for instance.
func FailedConversation(err error) (index int, ok bool) {
	var about *conversationError
	var over *BudgetError
	if errors.As(err, &about) && !errors.As(err, &over) {
		return about.index, true
	}
	return 0, false
}

// NameInstance adds the instance of the conversation to an error of Complete.
// The conversations were those of one batch, or of several levels of advice, each with
// the whole batch.
func NameInstance(err error, batch []part.Instance) error {
	if index, ok := FailedConversation(err); ok {
		return fmt.Errorf("instance %q: %w", batch[index%len(batch)].ID, err)
	}
	return err
}

// Completion is an answer of a chat model.
type Completion struct {
	Text      string
	Fee       float64 // cost at the model's prices; 0 for local models
	Used      part.Usage
	Finish    string   // why it ends, as the service says; "": not known
	LogProb   *float64 // natural logarithm of its probability, if the request asks for it; nil: not known
	Truncated bool     // the limit on tokens ended it
	ToolCall  bool     // the model called a tool, though none is offered to it; Text is then empty
}
