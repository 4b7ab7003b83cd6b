package build

import "context"

// chat answers conversations. It is safe for concurrent use.
type chat interface {
	// Complete returns one answer per conversation, in their order. An error that
	// is about one of them is a *conversationError.
	Complete(ctx context.Context, batch []conversation) ([]completion, error)
	Close() error
}

// conversationError says which conversation of a batch has no answer.
type conversationError struct {
	index int
	err   error
}

func (e *conversationError) Error() string { return e.err.Error() }
func (e *conversationError) Unwrap() error { return e.err }

// conversation is what a chat model is told, in order; the answer follows.
type conversation []message

// message is one turn of a conversation.
type message struct {
	Role    string `json:"role"` // system, user or assistant
	Content string `json:"content"`
}

// completion is an answer of a chat model.
type completion struct {
	Text string
	Fee  float64 // what it cost at the model's prices; 0 for models that run here
}
