package build

// conversation is what a chat model is told, in order; the answer follows.
type conversation []message

// message is one turn of a conversation.
type message struct {
	Role    string `json:"role"` // system, user or assistant
	Content string `json:"content"`
}
