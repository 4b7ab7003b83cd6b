package grade

import "context"

// Models opens the models that some kinds of graders ask. settings are those of the model in the configuration.
type Models interface {
	// Pair opens a model that reads two texts.
	Pair(ctx context.Context, settings map[string]any) (PairModel, error)
	// Chat opens a chat model.
	Chat(ctx context.Context, settings map[string]any) (ChatModel, error)
}

// PairModel gives the probabilities of classes for pairs of texts. It is safe for concurrent use.
type PairModel interface {
	// Classes returns the names of the classes. A model with one class gives a score from 0 to 1 for it.
	Classes() []string
	// Probabilities returns one list for every pair, in the order of the classes. An error about one of them is an
	// *AnswerError.
	Probabilities(ctx context.Context, pairs [][2]string) ([][]float32, error)
	Close() error
}

// ChatModel answers conversations. It is safe for concurrent use.
type ChatModel interface {
	// Answer returns an answer to each request, in order. An error about one of them is an *AnswerError.
	Answer(ctx context.Context, requests []Request) ([]string, error)
	// Count counts a reply: readable says that a score was in it.
	Count(ctx context.Context, readable bool)
	Close() error
}

// Request is a question to a chat model.
type Request struct {
	System string // "": none
	User   string
}
