package chat

import (
	"context"
	"errors"
	"fmt"

	"pipe/costs/builder/part"
	"pipe/costs/language"
)

// Model answers conversations. It is safe for concurrent use.
type Model interface {
	// Complete returns one answer per conversation, in their order. From an error
	// that is about one of them NameInstance takes which.
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

// NameInstance adds to an error of Complete the instance that its conversation was about.
// The conversations were those of one batch, or of several levels of advice, each with
// the whole batch.
func NameInstance(err error, batch []part.Instance) error {
	var about *conversationError
	var over *BudgetError
	if errors.As(err, &about) && !errors.As(err, &over) {
		return fmt.Errorf("instance %q: %w", batch[about.index%len(batch)].ID, err)
	}
	return err
}

// Completion is an answer of a chat model.
type Completion struct {
	Text string
	Fee  float64 // what it cost at the model's prices; 0 for models that run here
}
