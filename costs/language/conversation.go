package language

// Conversation is what a chat model is told, in order; the answer follows.
type Conversation []Message

// Message is one turn of a conversation.
type Message struct {
	Role    string `json:"role"` // system, user or assistant
	Content string `json:"content"`
}
